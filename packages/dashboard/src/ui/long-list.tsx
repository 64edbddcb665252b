/** A list of any length of which only what is near the screen is in the document. It scrolls with the page. */
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** How far from the end of the page one still reads its end, and so follows it. */
const endPx = 120

export function LongList<Row>({
  label,
  rows,
  keyOf,
  rowPx,
  gapPx = 0,
  total,
  beginsAt = 'start',
  onShown,
  className = '',
  children,
}: {
  label: string
  rows: Row[]
  keyOf: (row: Row) => string
  /** About how high a row is, until it was measured. */
  rowPx: number
  gapPx?: number
  /** null: nobody knows how many there are. */
  total: number | null
  /** `end`: what is read keeps its place when rows come before it, and the end is followed by whoever reads it. */
  beginsAt?: 'start' | 'end'
  /** The first and the last row near the screen. */
  onShown?: (first: number, last: number) => void
  className?: string
  children: (row: Row, index: number) => ReactNode
}) {
  const list = useRef<HTMLOListElement>(null)
  const scrollMargin = useDistanceFromTop(list)
  const [focused, setFocused] = useState<number | null>(null)
  /** Whoever sees the first row sees a new one before it; whoever has scrolled on is not moved by it. */
  const [isAway, setAway] = useState(false)
  const virtual = useWindowVirtualizer({
    count: rows.length,
    getItemKey: (index) => keyOf(rows[index]!),
    estimateSize: () => rowPx,
    gap: gapPx,
    overscan: 6,
    scrollMargin,
    scrollEndThreshold: endPx,
    anchorTo: beginsAt === 'end' || isAway ? 'end' : 'start',
    followOnAppend: beginsAt === 'end',
    rangeExtractor: useCallback((range: Range) => withFocused(range, focused), [focused]),
  })
  const items = virtual.getVirtualItems()
  const [first, last] = [virtual.range?.startIndex ?? 0, virtual.range?.endIndex ?? 0]
  useEffect(() => setAway(first > 0), [first])
  const isThere = rows.length > 0
  const [isPlaced, setPlaced] = useState(beginsAt === 'start')
  useLayoutEffect(() => {
    if (isPlaced || !isThere) return
    virtual.scrollToEnd()
    const frame = requestAnimationFrame(() => setPlaced(true))
    return () => cancelAnimationFrame(frame)
  }, [virtual, isPlaced, isThere])
  useEffect(() => {
    if (isPlaced && isThere) onShown?.(first, last)
  }, [onShown, isPlaced, isThere, first, last])
  return (
    <ol
      ref={list}
      aria-label={label}
      className={`relative [overflow-anchor:none] ${className}`}
      style={{ height: virtual.getTotalSize() }}
      onFocus={({ target }) => setFocused(indexOf(target))}
      onBlur={() => setFocused(null)}
    >
      {items.map(({ index, key, start }) => (
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

/** The row with the focus stays in the document wherever one scrolls, or a key would be lost. */
function withFocused(range: Range, focused: number | null): number[] {
  const shown = defaultRangeExtractor(range)
  if (focused === null || focused >= range.count || shown.includes(focused)) return shown
  return [...shown, focused].sort((one, other) => one - other)
}

function indexOf(element: Element): number | null {
  const index = element.closest('li[data-index]')?.getAttribute('data-index')
  return index === null || index === undefined ? null : Number(index)
}

/** What stands above the list may grow and shrink; the list has to know where on the page it begins. */
function useDistanceFromTop(element: { current: HTMLElement | null }): number {
  const [distance, setDistance] = useState(0)
  useLayoutEffect(() => {
    const look = () => {
      const { current } = element
      if (current !== null) setDistance(Math.round(current.getBoundingClientRect().top + scrollY))
    }
    look()
    const sizes = new ResizeObserver(look)
    sizes.observe(document.body)
    return () => sizes.disconnect()
  }, [element])
  return distance
}
