import {
  dropKeptRef,
  keptRefName,
  listKeptWork,
  missingObjects,
  noteReplacedWork,
  pruneReplacedWork,
  type Repository,
} from '@svc/git'
import { isHomeOf } from '../../db/home.ts'
import { withLock } from '../../db/lock.ts'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import { storedProjects } from '../../projects/mirrors/stored-repositories.ts'
import { getProjectOrDeleted, type ProjectRow } from '../../projects/store.ts'
import { deleteSnapshots, hasUnsavedWork, snapshotCommits } from './snapshot-store.ts'
import { deletedBefore } from './store.ts'
import { neededCommits, takeOldTurnSnapshots } from './turn-snapshot-store.ts'
import { sessionOfWork, storeOf } from './wip.ts'
import { Rotation } from '../../storage/rotation.ts'

/** Longer than a download of a bundle, or a git process that reuses its objects, may take. */
const restMs = 86_400_000
/** While a session has unsaved work for lack of space: as long as one request may last. */
const shortRestMs = 3_600_000
/** The stores of a run, unless space is short. */
const storesMax = 40
/** How long a session can continue from a turn whose work was not pushed. */
const turnsMs = 7 * 86_400_000
/** How long an operator can restore the work of a deleted session. */
const graceMs = 30 * 86_400_000

/**
 * A job: removes snapshots that were replaced at least a day ago, and the work of sessions that were deleted thirty days
 * ago. The newest snapshots of an existing session always stay.
 */
export async function pruneWip(
  deps: AcknowledgeDeps & Pick<Deps, 'disk' | 'locks' | 'config' | 'now' | 'log'>,
  signal: AbortSignal,
  rotation: Rotation = new Rotation(),
): Promise<void> {
  const max = deps.disk.isLow ? Infinity : storesMax
  for (const projectId of rotation.next(await projectsWithStore(deps), max)) {
    if (signal.aborted) return
    const project = await getProjectOrDeleted(deps.db, projectId)
    if (project === null || !isHomeOf(deps.home, project)) continue
    const store = storeOf(deps, project)
    try {
      await withLock(deps, `prune ${projectId}`, async () => {
        const dropped = await releaseDeleted(deps, project, store)
        if (dropped > 0) deps.log.info({ project_id: projectId, dropped }, 'released the work of deleted sessions')
        const isTight = await hasUnsavedWork(deps.db, projectId)
        await releaseTurns(deps, project, { store, keepMs: isTight ? shortRestMs : turnsMs })
        const rest = isTight ? shortRestMs : restMs
        const removed = await pruneReplacedWork(store, new Date(deps.now().getTime() - rest), signal)
        await forgetGone(deps, projectId, store)
        if (removed > 0) deps.log.info({ project_id: projectId, removed }, 'replaced snapshots were removed')
      })
    } catch (error) {
      // The next run tries again.
      deps.log.warn({ err: error, project_id: projectId }, 'removing replaced snapshots failed')
    }
  }
}

/** Stops counting snapshots whose objects were removed. */
async function forgetGone(deps: Pick<Deps, 'db'>, projectId: string, store: Repository): Promise<void> {
  const known = await snapshotCommits(deps.db, projectId)
  if (known.length > 0) await deleteSnapshots(deps.db, projectId, await missingObjects(store, known))
}

/** The work after turns that nothing continues from any more. */
async function releaseTurns(
  deps: Pick<Deps, 'db' | 'now'>,
  { project_id: projectId }: ProjectRow,
  { store, keepMs }: { store: Repository; keepMs: number },
): Promise<void> {
  const now = deps.now()
  const old = [...new Set(await takeOldTurnSnapshots(deps.db, projectId, new Date(now.getTime() - keepMs)))]
  const needed = await neededCommits(deps.db, projectId, old)
  // A crash before this note leaves them to the job that reclaims what nothing references.
  await noteReplacedWork(
    store,
    old.filter((sha) => !needed.has(sha)),
    now,
  )
}

/** Their objects are removed a day later, like those of any replaced snapshot. */
async function releaseDeleted(
  deps: AcknowledgeDeps & Pick<Deps, 'now'>,
  project: ProjectRow,
  store: Repository,
): Promise<number> {
  const stored = await listKeptWork(store)
  const sessionIds = [...new Set(stored.flatMap(({ name }) => sessionOfWork(name) ?? []))]
  const before = new Date(deps.now().getTime() - graceMs)
  const deleted = await deletedBefore(deps.db, { projectId: project.project_id, sessionIds, before })
  const theirs = stored.filter(({ name }) => deleted.has(sessionOfWork(name) ?? ''))
  // In this order, a crash in between only repeats the note.
  await noteReplacedWork(
    store,
    theirs.map(({ commit }) => commit),
    deps.now(),
  )
  for (const { name } of theirs) await dropKeptRef(store, name)
  const refs = theirs.map(({ name, commit }) => ({ ref: keptRefName(name), old: commit }))
  await acknowledge(deps, { project, store, refs }, async () => {})
  return theirs.length
}

/** Projects with a repository on disk, which may store work even without sessions. */
export async function projectsWithStore(deps: Pick<Deps, 'config'>): Promise<string[]> {
  return [...new Set([...(await storedProjects(deps, 'repositories')), ...(await storedProjects(deps, 'mirrors'))])]
}
