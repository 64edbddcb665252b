/** Keeps a reader at the end of a pane there while the pane grows. On a narrow screen the page goes on below the pane. */
import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react'

/** Within this distance of the end, the page follows what is added. */
export const endPx = 120

const paneOf = (element: Element | null) => element?.closest('[data-pane]') ?? document.body

/** The scroll position that shows the end of the pane at the bottom of the screen. */
const endOf = (pane: Element) => Math.max(0, pane.getBoundingClientRect().bottom + scrollY - innerHeight)

const lastPosition = () => document.documentElement.scrollHeight - innerHeight

/** `element` is in the pane. */
export function useStayAtEnd(element: RefObject<Element | null>, isOn: boolean) {
  const [isEndOfPage, setEndOfPage] = useState(true)
  /** How far the reader is above the end; null away from it. */
  const gap = useRef<number | null>(null)
  useLayoutEffect(() => {
    if (!isOn) return undefined
    const pane = paneOf(element.current)
    let end = endOf(pane)
    const look = () => {
      const before = end - scrollY
      end = endOf(pane)
      const now = end - scrollY
      // The event comes a frame late. If the pane grew meanwhile, a reader who was at its end has not left it.
      const distance = Math.abs(before) < Math.abs(now) ? before : now
      gap.current = Math.abs(distance) <= endPx ? Math.max(0, distance) : null
    }
    const resized = new ResizeObserver(() => {
      end = endOf(pane)
      setEndOfPage(lastPosition() - end <= 1)
      if (gap.current !== null) scrollTo({ top: end - gap.current, behavior: 'instant' })
    })
    resized.observe(pane)
    addEventListener('scroll', look, { passive: true })
    return () => {
      resized.disconnect()
      removeEventListener('scroll', look)
    }
  }, [element, isOn])
  /** False where the end of the pane is the end of the page. */
  const scrollToEnd = useCallback(() => {
    const end = endOf(paneOf(element.current))
    gap.current = 0
    if (lastPosition() - end <= 1) return false
    scrollTo({ top: end, behavior: 'instant' })
    return true
  }, [element])
  const leaveEnd = useCallback(() => {
    gap.current = null
  }, [])
  return { isEndOfPage, scrollToEnd, leaveEnd }
}
