/** The current and the previously viewed head, to show the changes between them. Stored in this browser. */
import { useEffect } from 'react'
import { useStored } from '../../../browser/use-stored.ts'

export interface Viewed {
  sha: string
  at: string
}
interface ViewedHeads {
  now: Viewed | null
  before: Viewed | null
}
const none: ViewedHeads = { now: null, before: null }

/** `shown` is the head on the screen, or null. Returns the head that was viewed before it. */
export function useLastViewed(crId: string, shown: string | null): Viewed | null {
  const [heads, store] = useStored(`svc-looked-${crId}`, none)
  useEffect(() => {
    if (shown !== null)
      store((stored) => (stored.now?.sha === shown ? stored : { now: viewedNow(shown), before: stored.now }))
  }, [shown, store])
  return heads.now?.sha === shown ? heads.before : heads.now
}

function viewedNow(sha: string): Viewed {
  return { sha, at: new Date().toISOString() }
}
