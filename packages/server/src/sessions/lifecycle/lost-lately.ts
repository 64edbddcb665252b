import type { SandboxRow } from '../../sandboxes/store.ts'

const withinMs = 10 * 60_000

/** How many sandboxes ended other than by a stop, including the current one. */
export function lostLately(rows: SandboxRow[], now: Date): number {
  const since = now.getTime() - withinMs
  return rows.filter((row) => row.status !== 'stopped' && Date.parse(row.created_at) > since).length
}
