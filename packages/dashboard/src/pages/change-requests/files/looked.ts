/** Which head was on the screen last, and which before it, so that what came in between can be shown. Kept on this browser. */
import { useEffect } from 'react'
import { useKept } from '../../../kept.ts'

export interface Look {
  sha: string
  at: string
}
interface Looks {
  now: Look | null
  before: Look | null
}
const none: Looks = { now: null, before: null }

/** `shown` is the head on the screen, null while there is none. Answers with the one that was looked at before it. */
export function useLooks(crId: string, shown: string | null): Look | null {
  const [looks, keep] = useKept(`svc-looked-${crId}`, none)
  useEffect(() => {
    if (shown !== null) keep((kept) => (kept.now?.sha === shown ? kept : { now: lookAt(shown), before: kept.now }))
  }, [shown, keep])
  return looks.now?.sha === shown ? looks.before : looks.now
}

function lookAt(sha: string): Look {
  return { sha, at: new Date().toISOString() }
}
