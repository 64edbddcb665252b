/** A project that moved away leaves its repository on this server for a while: in its place, or set aside. */
import { mkdir, readdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { markReplica, orIfAbsent, placeOf, type ReplicaMark } from '@svc/git'
import type { Deps } from '../deps.ts'
import { replicaDir } from '../projects/replicas/keep.ts'
import { seqOfEpoch } from '../projects/replicas/store.ts'
import type { ProjectRow } from '../projects/store.ts'
import type { Judged } from './judge-copy.ts'
import { lastMoveFrom } from './moves/store.ts'
import { asideOf, setAside } from './moves/target.ts'
import { storedDir } from './peer-git.ts'

type FormerDeps = Pick<Deps, 'config' | 'db' | 'now' | 'serverName'>

/** With the mark that it would have as a copy. */
export async function findFormer(
  deps: FormerDeps,
  project: ProjectRow,
): Promise<{ dir: string; mark: ReplicaMark } | null> {
  const { project_id: projectId } = project
  const dirs = [storedDir(deps, project), ...(await aside(deps, projectId))]
  const places = await Promise.all(dirs.map(placeOf))
  const dir = dirs.find((_, at) => places[at] !== null)
  if (dir === undefined) return null
  const move = await lastMoveFrom(deps.db, { projectId, serverName: deps.serverName })
  // Nothing tells what it has, so it counts as older than every change.
  if (move === null) return { dir, mark: { epoch: 0, seq: 0 } }
  // A frozen home acknowledges nothing, so the move took along all changes of its epoch.
  const { home_epoch: epoch } = move
  return { dir, mark: { epoch, seq: await seqOfEpoch(deps.db, { projectId, epoch }) } }
}

/** The newest first. */
async function aside(deps: FormerDeps, projectId: string): Promise<string[]> {
  const names = (await copiesAside(deps)).filter((each) => each.projectId === projectId)
  return names.toSorted((a, b) => b.at - a.at).map(({ name }) => join(asideOf(deps), name))
}

export async function copiesAside(
  deps: Pick<Deps, 'config'>,
): Promise<{ name: string; projectId: string; at: number }[]> {
  const names = await readdir(asideOf(deps)).catch(orIfAbsent<string[]>([]))
  return names.flatMap((name) => {
    const [, projectId, at] = /^([0-9a-f-]{36})-(\d{13})\.git$/.exec(name) ?? []
    return projectId === undefined ? [] : [{ name, projectId, at: Number(at) }]
  })
}

/** Makes it the copy on this server. The mark goes first: an interrupted take-over begins with it again. */
export async function adoptFormer(deps: FormerDeps, project: ProjectRow, { dir, mark }: Judged): Promise<void> {
  const copy = replicaDir(deps, project.project_id)
  if (dir === copy) return
  await setAside(deps, copy, project.project_id)
  await markReplica(dir, mark)
  await mkdir(dirname(copy), { recursive: true })
  await rename(dir, copy)
}
