import type { Deps } from '../../deps.ts'
import { insertSandbox, type SandboxRow } from '../../sandboxes/store.ts'
import type { SessionWithSandbox } from '../store.ts'

/** A session that loses this many sandboxes within this time has failed. */
export const lostMax = 3
/** For starts that failed because the database, another server or a git host did not answer, which passes by itself. */
export const interruptedMax = 12
const lostWithinMs = 10 * 60_000

/** How many sandboxes of a session ended other than by a stop, including the current one. */
export function lostLately(rows: SandboxRow[], now: Date): number {
  const since = now.getTime() - lostWithinMs
  return rows.filter((row) => row.status !== 'stopped' && Date.parse(row.created_at) > since).length
}

/** An interrupted start of this server itself: the database was away when it should have recorded why. */
export function beganAt(instanceId: string, rows: SandboxRow[], { generation }: SessionWithSandbox): boolean {
  return rows.some((row) => row.generation === generation && row.instance_id === instanceId)
}

/** A start that failed before it had a sandbox counts as well: otherwise nothing would limit how often it is tried. */
export async function countLostStart(
  { db, instanceId, sandboxes }: Pick<Deps, 'db' | 'instanceId' | 'sandboxes'>,
  { session_id, generation, next_sandbox_id: sandbox_id }: SessionWithSandbox,
): Promise<void> {
  const of = { session_id, generation, sandbox_id, instance_id: instanceId }
  await insertSandbox(db, { ...of, driver: sandboxes?.name ?? 'none', status: 'provisioning' })
}
