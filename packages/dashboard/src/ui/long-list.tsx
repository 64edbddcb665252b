/** A virtual list: only the rows near the screen are in the document. It scrolls with the page. */
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { endPx, useStayAtEnd } from './stay-at-end.ts'

interface Listed<Row> {
  rows: Row[]
  keyOf: (row: Row) => string
  /** The estimated height of a row until it is measured. */
  rowPx: number
  gapPx?: number
  /** With `end`, rows added above do not move the visible ones, and a reader at the end follows new rows. */
  beginsAt?: 'start' | 'end'
  /** The key of a row to scroll to, once it is there. */
  target?: string | null
  /** Receives the first and the last row near the screen. */
  onShown?: (first: number, last: number) => void
}

export function LongList<Row>({
  label,
  total,
  children,
  ...listed
}: Listed<Row> & {
  label: string
  /** Null when unknown. */
  total: number | null
  children: (row: Row, index: number) => ReactNode
}) {
  const { rows } = listed
  const list = useRef<HTMLOListElement>(null)
  const scrollMargin = useDistanceFromTop(list)
  const [focused, setFocused] = useState<number | null>(null)
  const end = useStayAtEnd(list, listed.beginsAt === 'end')
  const virtual = useVirtualRows(listed, { scrollMargin, focused, end })
  return (
    <ol
      ref={list}
      aria-label={label}
      className="relative [overflow-anchor:none]"
      style={{ height: virtual.getTotalSize() }}
      onFocus={({ target }) => setFocused(indexOf(target))}
      onBlur={() => setFocused(null)}
    >
      {virtual.getVirtualItems().map(({ index, key, start }) => (
        <li
          key={key}
          ref={virtual.measureElement}
          data-index={index}
          aria-posinset={total === null ? undefined : index + 1 + total - rows.length}
          aria-setsize={total ?? -1}
          className="absolute inset-x-0 top-0"
          style={{ transform: `translateY(${start - scrollMargin}px)` }}
        >
          {children(rows[index]!, index)}
        </li>
      ))}
    </ol>
  )
}

function useVirtualRows<Row>(
  { rows, keyOf, rowPx, gapPx = 0, beginsAt = 'start', target = null, onShown }: Listed<Row>,
  {
    scrollMargin,
    focused,
    end,
  }: { scrollMargin: number; focused: number | null; end: ReturnType<typeof useStayAtEnd> },
) {
  /** A reader at the first row sees a new row above it. A reader further down is not moved. */
  const [isScrolled, setScrolled] = useState(false)
  const virtual = useWindowVirtualizer({
    count: rows.length,
    getItemKey: (index) => keyOf(rows[index]!),
    estimateSize: () => rowPx,
    gap: gapPx,
    overscan: 6,
    scrollMargin,
    scrollEndThreshold: endPx,
    anchorTo: beginsAt === 'end' || isScrolled ? 'end' : 'start',
    // It follows to the end of the page.
    followOnAppend: beginsAt === 'end' && end.isEndOfPage,
    rangeExtractor: useCallback((range: Range) => withFocused(range, focused), [focused]),
  })
  // Calculates the range.
  virtual.getVirtualItems()
  const [first, last] = [virtual.range?.startIndex ?? 0, virtual.range?.endIndex ?? 0]
  useEffect(() => setScrolled(first > 0), [first])
  const hasRows = rows.length > 0
  const [isPlaced, setPlaced] = useState(beginsAt === 'start')
  const { scrollToEnd, leaveEnd } = end
  useLayoutEffect(() => {
    if (isPlaced || !hasRows) return
    if (!scrollToEnd()) virtual.scrollToEnd()
    const frame = requestAnimationFrame(() => setPlaced(true))
    return () => cancelAnimationFrame(frame)
  }, [virtual, isPlaced, hasRows, scrollToEnd])
  const goal = target === null ? -1 : rows.findIndex((row) => keyOf(row) === target)
  const reached = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (goal === -1 || !isPlaced || reached.current === target) return
    reached.current = target
    leaveEnd()
    virtual.scrollToIndex(goal, { align: 'center' })
  }, [virtual, goal, target, isPlaced, leaveEnd])
  useEffect(() => {
    if (isPlaced && hasRows) onShown?.(first, last)
  }, [onShown, isPlaced, hasRows, first, last])
  return virtual
}

/** The focused row stays in the document while the reader scrolls, so that it keeps the keyboard focus. */
function withFocused(range: Range, focused: number | null): number[] {
  const shown = defaultRangeExtractor(range)
  if (focused === null || focused >= range.count || shown.includes(focused)) return shown
  return [...shown, focused].sort((one, other) => one - other)
}

function indexOf(element: Element): number | null {
  const index = element.closest('li[data-index]')?.getAttribute('data-index')
  return index === null || index === undefined ? null : Number(index)
}

/** Where the list begins on the page. Content above it may grow and shrink. */
function useDistanceFromTop(element: { current: HTMLElement | null }): number {
  const [distance, setDistance] = useState(0)
  useLayoutEffect(() => {
    const measure = () => {
      const { current } = element
      if (current !== null) setDistance(Math.round(current.getBoundingClientRect().top + scrollY))
    }
    measure()
    const sizes = new ResizeObserver(measure)
    sizes.observe(document.body)
    return () => sizes.disconnect()
  }, [element])
  return distance
}
