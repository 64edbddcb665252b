/** Before a server ends with its sessions: saves their work while their sandboxes can still stay. */
import { ServiceError } from '@svc/contract'
import { count } from '@svc/contract/count'
import type { UnsavedSession } from '@svc/contract/daemon/owner-socket'
import { isUuid } from '../../auth/allow.ts'
import { isDatabaseUnavailable } from '../../db/unavailable.ts'
import type { Deps } from '../../deps.ts'
import { getSandbox } from '../../sandboxes/store.ts'
import { getSessionById } from '../store.ts'

type SaveDeps = Pick<Deps, 'db' | 'sandboxes' | 'sessions'>

const silent = 'Its sandbox does not answer.'
const notTakenOver = 'This server did not take over its sandbox.'

/** Throws `work_not_saved` when the end of a sandbox would lose work. Nothing has ended then. */
export async function requireAllSaved(deps: SaveDeps): Promise<void> {
  const unsaved = await saveAll(deps)
  if (unsaved.length === 0) return
  throw new ServiceError(
    'work_not_saved',
    `Nothing was stopped, because the newest work of ${count(unsaved.length, 'session')} cannot be saved.`,
    { detail: { sessions: unsaved } },
  )
}

/** The sessions of this machine whose newest work is not saved. */
export async function saveAll(deps: SaveDeps): Promise<UnsavedSession[]> {
  const ids = ((await deps.sandboxes?.list()) ?? []).map(({ sandboxId }) => sandboxId)
  try {
    const unsaved = await Promise.all(ids.filter(isUuid).map((sandboxId) => save(deps, sandboxId)))
    return unsaved.filter((session) => session !== null)
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    throw new ServiceError(
      'work_not_saved',
      'Nothing was stopped: the database does not answer, so the newest work of sessions cannot be saved.',
      { cause: error },
    )
  }
}

async function save({ db, sessions }: SaveDeps, sandboxId: string): Promise<UnsavedSession | null> {
  const row = await getSandbox(db, sandboxId)
  const session = row === null ? null : await getSessionById(db, row.session_id)
  // A session that starts has no work, and nothing is saved from one that ends.
  if (session?.status !== 'running' || session.sandbox?.sandbox_id !== sandboxId) return null
  const wip = sessions.wipOf(session.session_id)
  const reason = wip === null ? notTakenOver : await wip.saveBeforeEnd(silent)
  return reason === null ? null : { session_id: session.session_id, name: session.name, reason }
}
