/** A mirror can be fetched again, so a damaged file in one costs time and nothing else. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commit, type TestRepository } from '@svc/git/testing'
import { gitText, type TestProject, testProject } from '../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { mirrorDir } from './repository.ts'

setDefaultTimeout(120_000)

let app: TestApp
let origin: TestRepository
let project: TestProject
let dir: string
let count = 0
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

/** A separate project per damage, with one merged change request, whose commits are kept. */
async function begin(): Promise<string> {
  const made = await app.externalProject({ a: '1\n' })
  origin = made.repo
  project = testProject(app, { project: made.project, repo: made.repo })
  dir = mirrorDir(app.deps, made.project.project_id)
  const { cr_id } = await project.open('first', { first: '1\n' })
  expect((await project.merge(cr_id)).status).toBe(200)
  return cr_id
}

const files = (folder: string, end: string) =>
  readdirSync(join(dir, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(end))
    .map((entry) => join(entry.parentPath, entry.name))
function write(path: string, content: string | Buffer): void {
  if (existsSync(path)) chmodSync(path, 0o644)
  writeFileSync(path, content)
}
const everyPack = (end: string, change: (path: string) => void) => () =>
  files('objects/pack', end).forEach((path) => {
    chmodSync(path, 0o644)
    change(path)
  })
const lock = (path: string) => () => {
  write(join(dir, path), '')
  // Older than any git process that could hold it.
  utimesSync(join(dir, path), new Date(0), new Date(0))
}

test.each<[string, () => void]>([
  ...[0.3, 0.5, 0.7].map((part): [string, () => void] => [
    `packs with another byte at ${part}`,
    everyPack('.pack', (path) => write(path, flipped(readFileSync(path), part))),
  ]),
  ['packs that are gone', everyPack('.pack', (path) => rmSync(path))],
  ['indexes of nonsense', everyPack('.idx', (path) => write(path, 'nonsense'))],
  ['a commit-graph of nonsense', () => write(join(dir, 'objects/info/commit-graph'), 'nonsense')],
  ['no HEAD', () => rmSync(join(dir, 'HEAD'))],
  ['no settings', () => rmSync(join(dir, 'config'))],
  ['settings of nonsense', () => write(join(dir, 'config'), '[core\nnonsense')],
  ['packed refs of nonsense', () => write(join(dir, 'packed-refs'), 'nonsense\n')],
  ['a branch of nonsense', () => files('refs/heads', '').forEach((path) => write(path, 'nonsense\n'))],
  ['kept refs of nonsense', () => files('refs/svc', '').forEach((path) => write(path, 'nonsense\n'))],
  ['no objects at all', () => rmSync(join(dir, 'objects'), { recursive: true })],
  ['nothing at all', () => rmSync(dir, { recursive: true })],
  ['locked packed refs', lock('packed-refs.lock')],
])('repairs a mirror with %s when it is read', async (_, damage) => {
  const merged = await begin()
  // Opened before, so that its objects are missing, and read after.
  const { cr_id } = await project.open(`work-${++count}`, { [`file-${count}`]: '2\n' })
  await commit(origin, 'main', { beside: `${count}\n` })
  damage()
  const read = async (id: string, verb?: string) => (await app.request('GET', project.path(id, verb))).status
  expect(await read(cr_id)).toBe(200)
  expect([await read(cr_id, 'diff'), await read(cr_id, 'merge-preview')]).toEqual([200, 200])
  expect((await project.merge(cr_id)).status).toBe(200)
  expect(await gitText(origin, 'show', `refs/heads/main:file-${count}`)).toBe('2')
  expect(await read(merged, 'diff')).toBe(200)
})

function flipped(bytes: Buffer, part: number): Buffer {
  const at = Math.floor(bytes.length * part)
  bytes[at] = bytes[at]! ^ 0xff
  return bytes
}
