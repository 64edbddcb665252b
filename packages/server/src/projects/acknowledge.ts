/** Acknowledges changes of refs that only the home has: those of managed repositories, and the hidden refs of all. */
import { ServiceError } from '@svc/contract'
import { type Homed, hasMoved, holdHome } from './home-store.ts'
import { readRefValue, type Repository } from '@svc/git'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { insertRefChanges } from './replicas/store.ts'

export type AcknowledgeDeps = Pick<Deps, 'db' | 'home' | 'localLocks' | 'replicas'>

interface Changed {
  project: Homed
  store: Pick<Repository, 'dir' | 'group'>
  /** With their values before. What they are now is read. */
  refs: { ref: string; old: string | null }[]
  /** It is the last moment for this change, so the copy may get it later when it cannot now. */
  mayLag?: boolean
}

/** Of a change that may lag. */
const lagMs = 2_000

/**
 * Runs `write` in the transaction that records these refs as they are now, once the copy on another server has their
 * objects. Until it returns, nobody may be told of the change. A server that runs alone only writes.
 */
export async function acknowledge<T>(
  deps: AcknowledgeDeps,
  { project, store, refs, mayLag = false }: Changed,
  write: (db: DbOrTransaction) => Promise<T>,
): Promise<T> {
  const { db, home, replicas } = deps
  if (home === null) return write(db)
  if (replicas.mode === 'none' || refs.length === 0)
    return db.transaction().execute(async (trx) => {
      await holdHome(trx, deps, project)
      return write(trx)
    })
  const since = performance.now()
  // In turn: the log then ends with the value that the ref has, whoever moved it first.
  const recording = deps.localLocks.run(`refs ${project.project_id}`, async () => {
    const changes = await Promise.all(
      refs.map(async ({ ref, old }) => ({ ref, old, new: await readRefValue(store, ref) })),
    )
    const commits = changes.flatMap((change) => change.new ?? [])
    await failpoint('refs.before_copy')
    for (;;) {
      const sending = replicas.send(project, store, commits, mayLag ? { since, waitMs: lagMs } : { since })
      const replica = await (mayLag ? sending.catch(whenUncopied) : sending)
      await failpoint('refs.before_record')
      const outcome = await db
        .transaction()
        .execute(async (trx) => {
          const recorded = await insertRefChanges(trx, { ...project, home, changes, replica })
          if (recorded === 'moved') throw await hasMoved(trx, deps, project)
          // Another copy took its place since; nothing was written, so this transaction may end as it likes.
          if (recorded === 'other') throw new OtherReplica()
          return { written: await write(trx) }
        })
        .catch(whenOther)
      if (outcome === null) {
        replicas.forget(project.project_id)
        continue
      }
      await failpoint('refs.after_record')
      replicas.recorded(project, store, changes)
      return outcome.written
    }
  })
  return recording.catch((error: unknown) => {
    replicas.unrecorded(project.project_id)
    throw error
  })
}

/**
 * Before a pusher sees the branches: git takes one that has its commit already for pushed, so what moved without a record
 * is recorded first. Otherwise a take-over of this home would go back to the recorded value.
 */
export async function recordMissing(
  deps: AcknowledgeDeps,
  { project, store }: Pick<Changed, 'project' | 'store'>,
): Promise<void> {
  const refs = await deps.replicas.missing(project, store)
  if (refs.length > 0) await acknowledge(deps, { project, store, refs }, async () => {})
  deps.replicas.allRecorded(project)
}

/** The job that tends copies sends it. */
function whenUncopied(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'unavailable') return null
  throw error
}

class OtherReplica extends Error {}

function whenOther(error: unknown): null {
  if (error instanceof OtherReplica) return null
  throw error
}
