/** Acknowledges changes of refs that only the home has: those of managed repositories, and the hidden refs of all. */
import { ServiceError } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import { type Homed, hasMoved, holdHome } from './home-store.ts'
import { readRefValue, type Repository } from '@svc/git'
import type { DbOrTransaction } from '../db/schema.ts'
import { handledElsewhere } from '../deadline.ts'
import type { Deps, HowToSend } from '../deps.ts'
import '../failpoint.ts'
import { requireWholeDisk } from './replicas/earlier-disk.ts'
import { endRecords, insertRefChanges } from './replicas/store.ts'

export type AcknowledgeDeps = Pick<Deps, 'db' | 'home' | 'localLocks' | 'replicas'>

interface Changed {
  project: Homed
  store: Pick<Repository, 'dir' | 'group'>
  /** With their values before. What they are now is read. */
  refs: { ref: string; old: string | null }[]
  /** Whether it is the last moment for this change, so that the copy may get it later when it cannot now. */
  mayLag?: () => boolean
  /** Whose work alone these refs are. It waits for no change of other refs, which may wait for the copy. */
  sessionId?: string
  onWait?: HowToSend['onWait']
}

/** Of a change that may lag. */
const lagMs = 2_000
const lookMs = 100

/**
 * Runs `write` in the transaction that records these refs as they are now, once the copy on another server has their
 * objects. Until it returns, nobody may be told of the change. A server that runs alone only writes.
 */
export async function acknowledge<T>(
  deps: AcknowledgeDeps,
  { project, store, refs, mayLag = () => false, sessionId = '', onWait }: Changed,
  write: (db: DbOrTransaction) => Promise<T>,
): Promise<T> {
  const { db, home, replicas } = deps
  if (home === null || replicas.mode === 'none' || refs.length === 0) return unrecorded(deps, project, refs, write)
  await requireWholeDisk(db, project, store)
  const since = performance.now()
  // In turn: the log then ends with the value that the ref has, whoever moved it first.
  const recording = deps.localLocks.run(`refs ${project.project_id} ${sessionId}`, async () => {
    const changes = await Promise.all(
      refs.map(async ({ ref, old }) => ({ ref, old, new: await readRefValue(store, ref) })),
    )
    const commits = changes.flatMap((change) => change.new ?? [])
    await failpoint('refs.before_copy')
    for (;;) {
      const replica = await sentOrLagging(replicas.send(project, store, commits, { since, onWait }), { since, mayLag })
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
      replicas.recorded(project, store, changes, replica)
      return outcome.written
    }
  })
  return recording.catch((error: unknown) => {
    replicas.unrecorded(project.project_id)
    throw error
  })
}

/** By project and epoch: a project can move to a server that records its changes, and come back. */
const ended = new LRUCache<string, true>({ max: 20_000 })

/** An earlier copy, and what was recorded, must not pass for current once a ref has changed without a record. */
async function unrecorded<T>(
  deps: AcknowledgeDeps,
  project: Homed,
  refs: Changed['refs'],
  write: (db: DbOrTransaction) => Promise<T>,
): Promise<T> {
  const key = `${project.project_id} ${project.home_epoch}`
  const endsRecords = refs.length > 0 && !ended.has(key)
  // A server that runs alone needs no fence.
  if (deps.home === null && !endsRecords) return write(deps.db)
  const written = await deps.db.transaction().execute(async (trx) => {
    await holdHome(trx, deps, project)
    if (endsRecords) await endRecords(trx, project.project_id)
    return write(trx)
  })
  if (endsRecords) ended.set(key, true)
  return written
}

/**
 * Before a pusher sees the branches: git takes one that has its commit already for pushed, so what moved without a record
 * is recorded first. Otherwise a take-over of this home would go back to the recorded value.
 */
export async function recordMissing(
  deps: AcknowledgeDeps,
  { project, store, onWait }: Pick<Changed, 'project' | 'store' | 'onWait'>,
): Promise<void> {
  const refs = await deps.replicas.missing(project, store, { onWait })
  if (refs.length > 0) await acknowledge(deps, { project, store, refs, onWait }, async () => {})
  deps.replicas.allRecorded(project)
}

/** Null also for a change that lags: the job that tends copies sends it. A server that is paused may not answer for long. */
async function sentOrLagging(
  sending: Promise<string | null>,
  { since, mayLag }: { since: number; mayLag: () => boolean },
): Promise<string | null> {
  const late = Promise.withResolvers<null>()
  const looks = setInterval(() => {
    if (mayLag() && performance.now() - since > lagMs) late.resolve(null)
  }, lookMs)
  sending.catch(handledElsewhere)
  try {
    return await Promise.race([sending, late.promise])
  } catch (error) {
    if (mayLag() && error instanceof ServiceError && error.code === 'unavailable') return null
    throw error
  } finally {
    clearInterval(looks)
  }
}

class OtherReplica extends Error {}

function whenOther(error: unknown): null {
  if (error instanceof OtherReplica) return null
  throw error
}
