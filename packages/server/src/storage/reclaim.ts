import { reclaimStore, settleReclaimed, storeBytes } from '@svc/git'
import { LRUCache } from 'lru-cache'
import { isHomeOf } from '../db/home.ts'
import { withLock } from '../db/lock.ts'
import type { Deps } from '../deps.ts'
import { quotasOf } from '../projects/quotas.ts'
import { getProjectOrDeleted, type ProjectRow } from '../projects/store.ts'
import { projectsWithStore } from '../sessions/unfinished-work/prune.ts'
import { unfinishedBytesOf } from '../sessions/unfinished-work/snapshot-store.ts'
import { storeOf } from '../sessions/unfinished-work/wip.ts'
import { rootsOf } from './root-queries.ts'
import { Rotation } from './rotation.ts'

type ReclaimDeps = Pick<Deps, 'db' | 'home' | 'locks' | 'localLocks' | 'config' | 'disk' | 'now' | 'log'>

/** How long accidentally deleted objects can be recovered from the store. */
const restMs = 86_400_000
/** While space is short: longer than any request, push or merge. */
const shortRestMs = 3_600_000
/** The fill level from which space counts as short. */
const fullPart = 0.8

/** Stores already checked in this state: checking an unchanged store again finds nothing. */
const looked = new LRUCache<string, string>({ max: 10_000 })

/** The stores of a run, unless space is short. */
const storesMax = 40

/** The job. Reclaims the space of objects that nothing references any more. */
export async function reclaimStorage(
  deps: ReclaimDeps,
  signal: AbortSignal,
  rotation: Rotation = new Rotation(),
): Promise<void> {
  const max = deps.disk.isLow ? Infinity : storesMax
  for (const projectId of rotation.next(await projectsWithStore(deps), max)) {
    if (signal.aborted) return
    const project = await getProjectOrDeleted(deps.db, projectId)
    if (project === null || !isHomeOf(deps.home, project)) continue
    try {
      await withLock(deps, `prune ${projectId}`, () => reclaimOne(deps, project, signal))
    } catch (error) {
      // Nothing depends on it, and the next pass retries.
      deps.log.warn({ err: error, project_id: projectId }, 'failed to reclaim the space of a repository')
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
  // Includes the day, since objects that are too young for one pass are old enough for a later one.
  const state = `${bytes} ${roots.length} ${Math.floor(before.getTime() / (isFull ? shortRestMs : restMs))}`
  if (looked.get(store.dir) === state) return
  const freeBytes = deps.disk.freeBytes - deps.disk.minFreeBytes
  const outcome = await reclaimStore(store, { roots, before, freeBytes, signal })
  looked.set(store.dir, state)
  if (outcome.kind !== 'nothing') deps.log.info({ project_id: projectId, ...outcome }, 'repacked a repository')
}

async function hasLittleRoom(deps: ReclaimDeps, project: ProjectRow, bytes: number): Promise<boolean> {
  const used = bytes - (await unfinishedBytesOf(deps.db, project.project_id))
  return deps.disk.isLow || used > quotasOf(deps.config, project).repositoryBytes * fullPart
}
