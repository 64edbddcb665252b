/** The job that removes what moves leave on the disk of this server, and never what this server is the home of. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readReplicaMark } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { storedProjects } from '../../projects/mirrors/stored-repositories.ts'
import { managedDir, mirrorDir } from '../../projects/repository.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import { activeMoves, leftCopies, type MoveRow, recordRemoved } from './store.ts'
import { asideOf, removeRoom, setAside, withCopy } from './target.ts'

/** Clones that began before the move read from the old copy. */
const inPlaceMinutes = 15
const keptMs = 86_400_000

type RemoveDeps = Pick<Deps, 'config' | 'db' | 'home' | 'localLocks' | 'log' | 'now'>

export async function removeCopies(deps: RemoveDeps) {
  const { db, home } = deps
  if (home === null) return
  for (const move of await leftCopies(db, { serverName: home, minutes: inPlaceMinutes }))
    await withCopy(deps, move.project_id, () => removeCopy(deps, home, move))
  for (const { name, at } of await copiesAside(deps))
    if (deps.now().getTime() - at > keptMs) {
      await rm(join(asideOf(deps), name), { recursive: true, force: true })
      deps.log.info({ copy: name }, 'removed the copy of a project that moved a day ago')
    }
  const coming = new Set((await activeMoves(db)).flatMap((each) => (each.to_server === home ? [each.project_id] : [])))
  for (const projectId of await storedProjects(deps, 'moving'))
    if (!coming.has(projectId)) await removeRoom(deps, projectId)
}

/** Left to the next run while a repository is here whose project is about to get, or was about to get, its home here. */
async function removeCopy(deps: RemoveDeps, home: string, move: Pick<MoveRow, 'move_id' | 'project_id'>) {
  const { move_id, project_id } = move
  // Read before the home: a move that ends in between has made this server the home.
  const isComing = (await activeMoves(deps.db)).some((each) => each.project_id === project_id)
  const project = await getProjectOrDeleted(deps.db, project_id)
  if (project !== null && project.home !== home) {
    // The mark of a copy: a take-over was interrupted, and its next attempt begins with this repository.
    if (isComing || (await readReplicaMark(managedDir(deps, project_id))) !== null) return
    for (const dir of [managedDir(deps, project_id), mirrorDir(deps, project_id)]) await setAside(deps, dir, project_id)
  }
  await recordRemoved(deps.db, move_id)
}

async function copiesAside(deps: Pick<Deps, 'config'>): Promise<{ name: string; at: number }[]> {
  const names = await readdir(asideOf(deps)).catch(whenAbsent)
  return names.flatMap((name) => {
    const at = /^[0-9a-f-]{36}-(\d{13})\.git$/.exec(name)?.[1]
    return at === undefined ? [] : [{ name, at: Number(at) }]
  })
}

/** Before the first move there is no folder. */
function whenAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
