import { isUuid } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import { liveSandboxes, setEnded } from '../../sandboxes/store.ts'

/** The live sandboxes of sessions on this machine that no live row names. */
export async function orphanedSandboxes({ db, sandboxes }: Pick<Deps, 'db' | 'sandboxes'>): Promise<string[]> {
  const live = ((await sandboxes?.list()) ?? []).map(({ sandboxId }) => sandboxId)
  // Sandboxes of sessions are named by a UUID. Others belong to apps and checks.
  const ofSessions = live.filter(isUuid)
  const wanted = new Set(await liveSandboxes(db, ofSessions))
  return ofSessions.filter((sandboxId) => !wanted.has(sandboxId))
}

/** With a reason for the sessions, unless the next server goes on with them. */
export async function endAllSandboxes(
  { db, sandboxes }: Pick<Deps, 'db' | 'sandboxes'>,
  reason: string | null,
): Promise<void> {
  const end = async ({ sandboxId }: { sandboxId: string }) => {
    await sandboxes?.stop(sandboxId)
    if (reason !== null && isUuid(sandboxId)) await setEnded(db, sandboxId, reason)
  }
  await Promise.all(((await sandboxes?.list()) ?? []).map(end))
}
