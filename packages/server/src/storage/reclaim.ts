import { reclaimStore, settleReclaimed, storeBytes } from '@svc/git'
import { LRUCache } from 'lru-cache'
import { withLock } from '../db/lock.ts'
import type { Deps } from '../deps.ts'
import { quotasOf } from '../projects/quotas.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { projectsWithStore } from '../sessions/prune-wip.ts'
import { unfinishedBytesOf } from '../sessions/snapshot-store.ts'
import { storeOf } from '../sessions/wip.ts'
import { rootsOf } from './roots.ts'

type ReclaimDeps = Pick<Deps, 'db' | 'locks' | 'localLocks' | 'config' | 'disk' | 'now' | 'log'>

/** What was deleted by mistake can be taken out of the store for so long. */
const restMs = 86_400_000
/** Where there is little room: longer than any request, push or merge. */
const shortRestMs = 3_600_000
/** From here on there is little room. */
const fullPart = 0.8

/** Walking through a store that did not change finds what it found before. */
const looked = new LRUCache<string, string>({ max: 10_000 })

/** A job: gives back the space of what nothing leads to any more. */
export async function reclaimStorage(deps: ReclaimDeps, signal: AbortSignal): Promise<void> {
  for (const projectId of await projectsWithStore(deps)) {
    if (signal.aborted) return
    const project = await getProject(deps.db, projectId)
    if (project === null) continue
    try {
      await withLock(deps, `prune ${projectId}`, () => reclaimOne(deps, project, signal))
    } catch (error) {
      // Nothing depends on it, and the next pass tries again.
      deps.log.warn({ err: error, project_id: projectId }, 'the space of a repository could not be reclaimed')
    }
  }
}

async function reclaimOne(deps: ReclaimDeps, project: ProjectRow, signal: AbortSignal): Promise<void> {
  const store = storeOf(deps, project)
  const { project_id: projectId } = project
  const now = deps.now().getTime()
  const roots = await rootsOf(deps.db, projectId)
  await settleReclaimed(store, { roots, before: new Date(now - shortRestMs), signal })
  const bytes = await storeBytes(store.dir)
  const isFull = await hasLittleRoom(deps, project, bytes)
  const before = new Date(now - (isFull ? shortRestMs : restMs))
  // By the day, since what is too young for one pass is old enough for a later one.
  const state = `${bytes} ${roots.length} ${Math.floor(before.getTime() / (isFull ? shortRestMs : restMs))}`
  if (looked.get(store.dir) === state) return
  const freeBytes = deps.disk.freeBytes - deps.disk.minFreeBytes
  const outcome = await reclaimStore(store, { roots, before, freeBytes, signal })
  looked.set(store.dir, state)
  if (outcome.kind !== 'nothing') deps.log.info({ project_id: projectId, ...outcome }, 'a repository was packed anew')
}

async function hasLittleRoom(deps: ReclaimDeps, project: ProjectRow, bytes: number): Promise<boolean> {
  const used = bytes - (await unfinishedBytesOf(deps.db, project.project_id))
  return deps.disk.isLow || used > quotasOf(deps.config, project).repositoryBytes * fullPart
}
