import type { SandboxRow } from '../../sandboxes/store.ts'

/** A session that loses this many sandboxes within this time has failed. */
export const lostMax = 3
const lostWithinMs = 10 * 60_000

/** How many sandboxes of a session ended other than by a stop, including the current one. */
export function lostLately(rows: SandboxRow[], now: Date): number {
  const since = now.getTime() - lostWithinMs
  return rows.filter((row) => row.status !== 'stopped' && Date.parse(row.created_at) > since).length
}
