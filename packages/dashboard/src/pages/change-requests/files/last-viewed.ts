/** The head that this person saw before the shown one, to show the changes between them. */
import { useEffect } from 'react'
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
  useEffect(() => {
    if (isNew) edit({ visited: shown })
  }, [isNew, shown, edit])
  const before = visit?.head_sha === shown ? earlier_visit : visit
  return before && { sha: before.head_sha, at: before.visited_at }
}
