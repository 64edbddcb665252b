/** What `svc self-host check` finds in repositories that were damaged behind the server's back. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Disagreement } from '@svc/contract/daemon/operator-reports'
import { commit } from '@svc/git/testing'
import { gitText, testProject, type TestProject } from '../../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { check } from './check.ts'

setDefaultTimeout(120_000)

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
})
afterAll(() => app.close())

const makeProject = async () => testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))

/** Of this project, as kind and text. */
async function found({ project }: Pick<TestProject, 'project'>): Promise<string[][]> {
  const { config, serverName } = app.deps
  const { disagreements } = await check({ ...config, serverName }, () => {})
  const mine = ({ project_id }: Disagreement) => project_id === project.project_id
  return disagreements.filter(mine).map(({ kind, says }) => [kind, says])
}

const broken = ({ project }: TestProject, how: string) => [
  'broken_repository',
  expect.stringMatching(new RegExp(`^${project.slug}: the repository /.*${project.project_id}.git is damaged: ${how}`)),
]

async function flip(path: string, from: number): Promise<void> {
  const bytes = await readFile(path)
  for (const at of [from, from + 1]) bytes[at]! ^= 0xff
  await chmod(path, 0o600)
  await writeFile(path, bytes)
}

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(2000)), (byte) => byte.toString(16)).join('\n')

test('finds damaged content in packs, their indexes and loose objects', async () => {
  const at = await makeProject()
  await commit(at.repo, 'main', { 'large.txt': random() })
  const objects = join(at.repo.dir, 'objects')
  const blob = await gitText(at.repo, 'rev-parse', 'main:large.txt')
  expect(await found(at)).toEqual([])
  const loose = join(objects, blob.slice(0, 2), blob.slice(2))
  const intact = await readFile(loose)
  await flip(loose, 1000)
  expect(await found(at)).toEqual([broken(at, `its files are damaged: ${loose}: `)])
  await writeFile(loose, intact.subarray(0, 1000))
  expect(await found(at)).toEqual([broken(at, `its files are damaged: ${loose}: `)])
  await writeFile(loose, intact)

  await gitText(at.repo, 'repack', '-a', '-d', '--quiet')
  expect(await found(at)).toEqual([])
  for (const ending of ['.pack', '.idx']) {
    const name = (await readdir(join(objects, 'pack'))).find((each) => each.endsWith(ending))!
    const path = join(objects, 'pack', name)
    const whole = await readFile(path)
    // Of an index, the checksums of objects, which follow 1032 bytes and the ids, and which git does not read here.
    const objectsIn = (whole.length - 1072) / 28
    await flip(path, ending === '.pack' ? Math.floor(whole.length / 2) : 1032 + 20 * objectsIn)
    expect(await found(at)).toEqual([broken(at, `its files are damaged: ${path}: it differs from its checksum`)])
    await writeFile(path, whole)
  }
  expect(await found(at)).toEqual([])
})

test('names a repository that git cannot read, and checks the others', async () => {
  const at = await makeProject()
  const other = await makeProject()
  await rm(join(other.repo.dir, 'objects'), { recursive: true })
  for (const [file, content, how] of [
    ['HEAD', '', 'git cannot read it: .*not a git repository'],
    ['HEAD', 'nonsense\n', 'git cannot read it: .*not a git repository'],
    ['config', null, 'git cannot read it: .*no such file'],
    ['config', '[core\n', 'git cannot read it: .*bad config'],
  ] as const) {
    const path = join(at.repo.dir, file)
    const whole = await readFile(path)
    if (content === null) await rm(path)
    else await writeFile(path, content)
    expect(await found(at)).toEqual([broken(at, how)])
    expect(await found(other)).toEqual([broken(other, 'git cannot read it: ')])
    await writeFile(path, whole)
  }
  expect(await found(at)).toEqual([])
})
