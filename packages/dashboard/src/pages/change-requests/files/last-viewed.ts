/** The head that this person saw before the shown one, to show the changes between them. */
import { useEffect, useRef } from 'react'
import { useHeldRefusal } from '../../../components/role.ts'
import type { Edit } from '../review/review-state.ts'
import type { ReviewState } from '../queries.ts'

export interface Viewed {
  sha: string
  at: string
}

/** `shown` is the head on the screen, or null. Returns the head that was viewed before it. */
export function useLastViewed(
  { state, isRead, edit }: { state: ReviewState; isRead: boolean; edit: (edit: Edit) => void },
  shown: string | null,
): Viewed | null {
  const { visit, earlier_visit } = state
  const isNew = isRead && shown !== null && visit?.head_sha !== shown
  const isHeld = useHeldRefusal() !== null
  const sent = useRef<string | null>(null)
  useEffect(() => {
    // Once for each head: a refused mark is taken back, and would be sent again at once and for ever.
    if (!isNew || isHeld || sent.current === shown) return
    sent.current = shown
    edit({ visited: shown })
  }, [isNew, isHeld, shown, edit])
  const before = visit?.head_sha === shown ? earlier_visit : visit
  return before && { sha: before.head_sha, at: before.visited_at }
}
