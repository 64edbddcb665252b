import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Project } from '@svc/contract'
import { readReplicaMark } from '@svc/git'
import { LocalLocks } from '../../db/lock.ts'
import { findRow, insertRow, updateRows } from '../../db/rows.ts'
import { armFailpoints, parseFailpoints } from '../../failpoint.ts'
import { replicaDir } from '../../projects/replicas/keep.ts'
import { deleteReplica, lastSeq, setReplica } from '../../projects/replicas/store.ts'
import { managedDir } from '../../projects/repository.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { until } from '../../testing-until.ts'
import { authorityOf } from '../peer-git.ts'
import { promote } from '../promote.ts'
import { removeCopies } from './remove-copies.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'here', home: 'here', configure: { replica: 'sync' } })
}, 120_000)
afterAll(() => app.close())
afterEach(() => armFailpoints([]))

/** The copy that its new home keeps on another server. */
async function copiedThere({ project_id }: Project): Promise<void> {
  const { home_epoch: epoch } = (await findRow(app.deps.db, 'projects', { project_id }))!
  const seq = await lastSeq(app.deps.db, project_id)
  const row = { project_id, server: 'third', epoch, home: 'elsewhere', seq, applied: seq }
  expect(await setReplica(app.deps.db, row)).toBe(true)
}

/** A project at home elsewhere, and what a move that ended has left of it here, in its place. */
async function leftBy(insert: (projectId: string) => Promise<string>) {
  const { project, repo } = await app.managedProject()
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home: 'elsewhere' })
  return { project, moveId: await insert(project.project_id), dir: repo.dir }
}

const movedAway = () => leftBy(insertDone)
const failedToCome = () => leftBy(insertFailed)

function insertDone(projectId: string, minutesAgo = 60): Promise<string> {
  return insertEnded(projectId, { from_server: 'here', to_server: 'elsewhere', phase: 'done', minutesAgo })
}

function insertFailed(projectId: string): Promise<string> {
  return insertEnded(projectId, { from_server: 'elsewhere', to_server: 'here', phase: 'failed', minutesAgo: 60 })
}

async function insertEnded(
  project_id: string,
  { minutesAgo, ...of }: { from_server: string; to_server: string; phase: 'done' | 'failed'; minutesAgo: number },
): Promise<string> {
  const move_id = randomUUID()
  const ended_at = new Date(Date.now() - minutesAgo * 60_000).toISOString()
  await insertRow(app.deps.db, 'project_moves', {
    move_id,
    project_id,
    home_epoch: 0,
    cause: 'request',
    ...of,
    ended_at,
  })
  return move_id
}

const removedAt = async (moveId: string) =>
  (await findRow(app.deps.db, 'project_moves', { move_id: moveId }))?.removed_at ?? null

const setAsideOf = async ({ project_id }: Project) =>
  (await readdir(join(app.deps.config.dataDir, 'moved')).catch(() => [])).filter((name) => name.startsWith(project_id))

test('sets the copy of a project that moved away aside, and removes it after a day', async () => {
  const { project, moveId, dir } = await movedAway()
  await copiedThere(project)
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(false)
  expect(await setAsideOf(project)).toHaveLength(1)
  expect(await removedAt(moveId)).not.toBeNull()
  const tomorrow = new Date(app.deps.now().getTime() + 86_400_001)
  await removeCopies({ ...app.deps, now: () => tomorrow })
  expect(await setAsideOf(project)).toEqual([])
})

test('leaves what it has of a project while no other server has a current copy', async () => {
  const { project, moveId, dir } = await movedAway()
  const later = { ...app.deps, now: () => new Date(app.deps.now().getTime() + 2 * 86_400_000) }
  await removeCopies(later)
  expect([existsSync(dir), await removedAt(moveId)]).toEqual([true, null])
  await copiedThere(project)
  await removeCopies(app.deps)
  expect(await setAsideOf(project)).toHaveLength(1)
  await deleteReplica(app.deps.db, project.project_id)
  await removeCopies(later)
  expect(await setAsideOf(project)).toHaveLength(1)
  await copiedThere(project)
  await removeCopies(later)
  expect(await setAsideOf(project)).toEqual([])
})

test('leaves the repository of a project that came back', async () => {
  const { project, moveId, dir } = await movedAway()
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home: 'here' })
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(true)
  expect(await removedAt(moveId)).not.toBeNull()
})

test('leaves the repository that a move back has put in place, until the move ends', async () => {
  const { project, moveId, dir } = await movedAway()
  const back = { from_server: 'elsewhere', to_server: 'here', home_epoch: 1, cause: 'request' as const }
  const move_id = randomUUID()
  const { project_id } = project
  await insertRow(app.deps.db, 'project_moves', { move_id, project_id, ...back, phase: 'frozen' })
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(true)
  expect(await removedAt(moveId)).toBeNull()
  await updateRows(app.deps.db, 'project_moves', { move_id }, { phase: 'failed', ended_at: new Date().toISOString() })
  await copiedThere(project)
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(false)
})

test('sets aside what a move that failed has put in place, once another server has a current copy', async () => {
  const { project, moveId, dir } = await failedToCome()
  await removeCopies(app.deps)
  expect([existsSync(dir), await removedAt(moveId)]).toEqual([true, null])
  await copiedThere(project)
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(false)
  expect(await setAsideOf(project)).toHaveLength(1)
  expect(await removedAt(moveId)).not.toBeNull()
})

test('leaves the repository of a project that came with a later move', async () => {
  const { project, moveId, dir } = await failedToCome()
  await copiedThere(project)
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home: 'here' })
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(true)
  expect(await removedAt(moveId)).not.toBeNull()
})

test('leaves what another move to here has put in place, until that ends', async () => {
  const { project, dir } = await failedToCome()
  const { project_id } = project
  await copiedThere(project)
  const move_id = randomUUID()
  const again = { from_server: 'elsewhere', to_server: 'here', home_epoch: 0, cause: 'request' as const }
  await insertRow(app.deps.db, 'project_moves', { move_id, project_id, ...again, phase: 'copying' })
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(true)
  await updateRows(app.deps.db, 'project_moves', { move_id }, { phase: 'failed', ended_at: new Date().toISOString() })
  await removeCopies(app.deps)
  expect(existsSync(dir)).toBe(false)
})

test('leaves what clones may read from a project that has just moved away, although a move to here failed before', async () => {
  const { project, moveId, dir } = await failedToCome()
  await copiedThere(project)
  await insertDone(project.project_id, 1)
  await removeCopies(app.deps)
  expect([existsSync(dir), await removedAt(moveId)]).toEqual([true, null])
})

test('removes what moves that ended have begun to copy', async () => {
  const room = join(app.deps.config.dataDir, 'moving', `${randomUUID()}.git`)
  await mkdir(room, { recursive: true })
  // A fetch over https that was killed left it.
  await writeFile(authorityOf(room), '')
  await removeCopies(app.deps)
  expect([existsSync(room), existsSync(authorityOf(room))]).toEqual([false, false])
})

/** The copy of a project whose home is gone, here, where the project once had its home. */
async function copyOfLost(): Promise<{ project: Project; take: () => ReturnType<typeof promote>; moveId: string }> {
  const { project, moveId, dir } = await movedAway()
  const { project_id: projectId } = project
  const copy = replicaDir(app.deps, projectId)
  await mkdir(dirname(copy), { recursive: true })
  await rename(dir, copy)
  const { home_epoch: epoch } = (await findRow(app.deps.db, 'projects', { project_id: projectId }))!
  await writeFile(join(copy, 'svc-replica'), `${epoch} 0\n`)
  const row = { project_id: projectId, server: 'here', epoch, home: 'elsewhere', seq: 0, applied: 0 }
  expect(await setReplica(app.deps.db, row)).toBe(true)
  const input = { projectId, deadHome: 'elsewhere', epoch, acceptLoss: true, reason: 'gone' }
  return { project, moveId, take: () => promote(app.deps, input) }
}

class WatchedLocks extends LocalLocks {
  asked = 0
  begun = 0
  readonly #locks: LocalLocks

  constructor(locks: LocalLocks) {
    super()
    this.#locks = locks
  }

  override run<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.asked++
    return this.#locks.run(key, () => {
      this.begun++
      return work()
    })
  }
}

test('waits for a take-over that makes this server the home again, and leaves its repository', async () => {
  const { project, take } = await copyOfLost()
  const file = join(app.deps.config.dataDir, 'pause')
  armFailpoints(parseFailpoints(`promote.before_row=pause:${file}`) as never)
  const taking = take()
  await until('the repository is in its place', async () => existsSync(file))
  const locks = new WatchedLocks(app.deps.localLocks)
  const removing = removeCopies({ ...app.deps, localLocks: locks })
  await until('the job has come to this project', () => locks.asked > 0)
  await new Promise(setImmediate)
  expect(locks.begun).toBe(0)
  await rm(file)
  await Promise.all([taking, removing])
  expect((await taking).kind).toBe('taken')
  expect(existsSync(managedDir(app.deps, project.project_id))).toBe(true)
})

test('leaves the repository of a take-over that was interrupted to its next attempt', async () => {
  const { project, moveId, take } = await copyOfLost()
  armFailpoints(parseFailpoints('promote.before_row=throw') as never)
  await expect(take()).rejects.toThrow('promote.before_row')
  await removeCopies(app.deps)
  expect(await readReplicaMark(managedDir(app.deps, project.project_id))).not.toBeNull()
  expect(await removedAt(moveId)).toBeNull()
  armFailpoints([])
  expect((await take()).kind).toBe('taken')
  await removeCopies(app.deps)
  expect(existsSync(managedDir(app.deps, project.project_id))).toBe(true)
})
