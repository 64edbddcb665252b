import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  dropKeptRef,
  listKeptWork,
  missingObjects,
  noteReplacedWork,
  pruneReplacedWork,
  type Repository,
} from '@svc/git'
import { withLock } from '../db/lock.ts'
import type { Deps } from '../deps.ts'
import { getProject } from '../projects/store.ts'
import { deleteSnapshots, hasUnkeptWork, snapshotCommits } from './snapshot-store.ts'
import { deletedBefore } from './wip-store.ts'
import { sessionOfWork, storeOf } from './wip.ts'

/** Longer than anybody takes to fetch a bundle, and than any git that was about to write one of its objects anew. */
const restMs = 86_400_000
/** Where a session waits for room: as long as one request may last. */
const shortRestMs = 3_600_000
/** Whoever deleted a session that still had work can have the operator take it out of the store for so long. */
const graceMs = 30 * 86_400_000

/**
 * A job: removes the snapshots of unfinished work that were replaced a day ago and more, and lets go of what sessions
 * left that were deleted thirty days ago. The newest of a session that is there always stays, and so does what was kept
 * of its earlier starts.
 */
export async function pruneWip(
  deps: Pick<Deps, 'db' | 'locks' | 'localLocks' | 'config' | 'now' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (const projectId of await projectsWithStore(deps)) {
    if (signal.aborted) return
    const project = await getProject(deps.db, projectId)
    if (project === null) continue
    const store = storeOf(deps, project)
    try {
      await withLock(deps, `prune ${projectId}`, async () => {
        const dropped = await letGoOfDeleted(deps, projectId, store)
        if (dropped > 0) deps.log.info({ project_id: projectId, dropped }, 'work of deleted sessions was let go')
        const rest = (await hasUnkeptWork(deps.db, projectId)) ? shortRestMs : restMs
        const removed = await pruneReplacedWork(store, new Date(deps.now().getTime() - rest), signal)
        await forgetGone(deps, projectId, store)
        if (removed > 0) deps.log.info({ project_id: projectId, removed }, 'replaced snapshots were removed')
      })
    } catch (error) {
      // Nothing depends on it, and the next pass tries again.
      deps.log.warn({ err: error, project_id: projectId }, 'replaced snapshots could not be removed')
    }
  }
}

/** What is gone is no longer counted. */
async function forgetGone(deps: Pick<Deps, 'db'>, projectId: string, store: Repository): Promise<void> {
  const known = await snapshotCommits(deps.db, projectId)
  if (known.length > 0) await deleteSnapshots(deps.db, projectId, await missingObjects(store, known))
}

/** What they lead to alone goes a day later, like any snapshot that was replaced. */
async function letGoOfDeleted(deps: Pick<Deps, 'db' | 'now'>, projectId: string, store: Repository): Promise<number> {
  const kept = await listKeptWork(store)
  const sessionIds = [...new Set(kept.flatMap(({ name }) => sessionOfWork(name) ?? []))]
  const before = new Date(deps.now().getTime() - graceMs)
  const deleted = await deletedBefore(deps.db, { projectId, sessionIds, before })
  const theirs = kept.filter(({ name }) => deleted.has(sessionOfWork(name) ?? ''))
  // In this order: whoever dies in between notes them once more.
  await noteReplacedWork(
    store,
    theirs.map(({ commit }) => commit),
    deps.now(),
  )
  for (const { name } of theirs) await dropKeptRef(store, name)
  return theirs.length
}

/** By what lies on the disk: a project without a store has no work, and one without sessions may. */
export async function projectsWithStore(deps: Pick<Deps, 'config'>): Promise<string[]> {
  const folders = ['repositories', 'mirrors'].map((name) => join(deps.config.dataDir, name))
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(whenAbsent)))
  return [...new Set(names.flat().flatMap((name) => /^([0-9a-f-]{36})\.git$/.exec(name)?.[1] ?? []))]
}

/** Before the first project there is no folder. */
function whenAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
