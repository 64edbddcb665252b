/** Where a conversation is, for the parts of its messages. */
import { createContext, type RefObject, use, useEffect } from 'react'

export interface Target {
  message: string
  /** A tool call of the message. */
  part: string | null
}

interface Place {
  projectId: string
  /** The branch of the session. */
  branch: string
  /** The message or call of the link that was followed. */
  target: Target | null
  /** The target was shown once, so that it does not catch a reader who scrolled on. */
  isShown: RefObject<boolean>
}

export const PlaceContext = createContext<Place | null>(null)

/** Scrolls to the element and focuses it when it is the target, once. Returns whether it is. */
export function useTarget(element: RefObject<HTMLElement | null>, id: { message: string } | { part: string }): boolean {
  const place = use(PlaceContext)
  const target = place?.target ?? null
  const isTarget =
    target !== null && ('part' in id ? target.part === id.part : target.part === null && target.message === id.message)
  useEffect(() => {
    if (!isTarget || place === null || place.isShown.current) return undefined
    // After the list has placed its rows.
    const frame = requestAnimationFrame(() => {
      const { current } = element
      if (current === null) return
      place.isShown.current = true
      current.scrollIntoView({ block: 'center', behavior: 'instant' })
      const focused = current.querySelector('summary') ?? current
      focused.focus({ preventScroll: true })
    })
    return () => cancelAnimationFrame(frame)
  }, [isTarget, place, element])
  return isTarget
}
