/** The job that removes what moves leave on the disk of this server, and never what this server is the home of. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readReplicaMark } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { storedProjects } from '../../projects/mirrors/stored-repositories.ts'
import { hasCurrentCopy } from '../../projects/replicas/store.ts'
import { managedDir, mirrorDir } from '../../projects/repository.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import { activeMoveOf, activeMoves, leftCopies, type MoveRow, recordRemoved } from './store.ts'
import { copiesAside } from '../former-copy.ts'
import { asideOf, removeRoom, setAside, withCopy, withRoom } from './target.ts'

/** Clones that began before the move read from the old copy. */
const inPlaceMinutes = 15
const keptMs = 86_400_000

type RemoveDeps = Pick<Deps, 'config' | 'db' | 'home' | 'localLocks' | 'log' | 'now'>

export async function removeCopies(deps: RemoveDeps) {
  const { db, home } = deps
  if (home === null) return
  for (const move of await leftCopies(db, { serverName: home, minutes: inPlaceMinutes }))
    await withCopy(deps, move.project_id, () => removeCopy(deps, home, move))
  for (const { name, projectId, at } of await copiesAside(deps))
    if (deps.now().getTime() - at > keptMs && (await isSpare(deps, home, projectId))) {
      await rm(join(asideOf(deps), name), { recursive: true, force: true })
      deps.log.info({ copy: name }, 'removed the copy of a project that moved away')
    }
  const isComing = async (projectId: string) => (await activeMoveOf(db, projectId))?.to_server === home
  for (const projectId of await storedProjects(deps, 'moving'))
    // A pass of an active move may take hours, and one whose move has ended stops within a second.
    if (!(await isComing(projectId)))
      await withRoom(deps, projectId, async () => {
        if (!(await isComing(projectId))) await removeRoom(deps, projectId)
      })
}

/** Left to the next run while a repository is here whose project is about to get, or was about to get, its home here. */
async function removeCopy(deps: RemoveDeps, home: string, move: Pick<MoveRow, 'move_id' | 'project_id'>) {
  const { move_id, project_id } = move
  // Read before the home: a move that ends in between has made this server the home.
  const isComing = (await activeMoves(deps.db)).some((each) => each.project_id === project_id)
  const project = await getProjectOrDeleted(deps.db, project_id)
  if (project !== null && project.home !== home) {
    // The mark of a copy: a take-over was interrupted, and its next attempt begins with this repository.
    if (
      isComing ||
      !(await isSpare(deps, home, project_id)) ||
      (await readReplicaMark(managedDir(deps, project_id))) !== null
    )
      return
    for (const dir of [managedDir(deps, project_id), mirrorDir(deps, project_id)]) await setAside(deps, dir, project_id)
  }
  await recordRemoved(deps.db, move_id)
}

/** Whether what this server has left of a project can go: until another server than its home has a copy, it is the only one. */
async function isSpare({ config, db }: RemoveDeps, home: string, projectId: string): Promise<boolean> {
  if (config.replica === 'none') return true
  const project = await getProjectOrDeleted(db, projectId)
  return project === null || project.home === home || hasCurrentCopy(db, projectId)
}
