/** A repository that comes back from a backup older than its merges: a clone that has them brings them onto the default branch again. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { document } from './document.ts'
import { gatewayOf, git, program, removeFolder, run, Server } from './harness.ts'

setDefaultTimeout(120_000)

let server: Server
let dir: string
let clone: string
let repository: string
let older: string

beforeAll(async () => {
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  dir = await mkdtemp(join(tmpdir(), 'svc-lost-'))
  clone = join(dir, 'tool')
  await git(dir, 'init', '--quiet', '--initial-branch=main', clone)
  await ship('First')
  const { project_id } = await server.json<{ project_id: string }>(['projects', 'info'], { cwd: clone })
  await git(clone, 'remote', 'add', 'origin', gatewayOf(server, { project_id }))
  repository = join(server.env.SVC_DATA_DIR!, 'repositories', `${project_id}.git`)
  await document(selfHost(['backup', join(dir, 'backups'), '--json']))
  for (const title of ['Second', 'Third']) await ship(title)
  const copy = { SVC_CONFIG_FILE: join(dir, 'copy.json'), SVC_DATA_DIR: join(dir, 'copy') }
  await document(selfHost(['restore', join(dir, 'backups'), '--json'], { ...server.env, ...copy }))
  older = join(dir, 'copy/repositories', `${project_id}.git`)
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env })

async function ship(title: string): Promise<void> {
  await writeFile(join(clone, title), title)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', title)
  expect((await server.svc(['ship'], { cwd: clone })).code).toBe(0)
}

interface Found {
  disagreements: { kind: string; says: string }[]
}

const found = async () => (JSON.parse((await selfHost(['check', '--json'])).stdout) as Found).disagreements
const kinds = async () => (await found()).map(({ kind }) => kind)

async function comesBack(from: string): Promise<void> {
  await rm(repository, { recursive: true })
  expect(await kinds()).toEqual(['missing_repository'])
  await cp(from, repository, { recursive: true })
}

async function hasAllAgain(): Promise<void> {
  expect(await found()).toEqual([])
  expect(await git(repository, 'rev-parse', 'main')).toBe(await git(clone, 'rev-parse', 'HEAD'))
}

test('the check says how a branch gets its merges back, and that works', async () => {
  await comesBack(older)
  expect(await kinds()).toEqual(['lost_merge', 'lost_merge'])
  await cp(join(clone, '.git/objects'), join(repository, 'objects'), { recursive: true })
  const [rewound, ...others] = await found()
  expect(others).toEqual([])
  const says =
    'tool: main does not contain #1, #2, which are merged. Someone force-pushed it, or the repository is older than the database.'
  const command = 'svc ship --project tool'
  const remedy = `To have them there again, check out main in a clone that has them, and run: ${command}`
  expect(rewound).toMatchObject({ kind: 'rewound_branch', says: `${says} ${remedy}` })
  expect((await server.svc(command.split(' ').slice(1), { cwd: clone })).code).toBe(0)
  await hasAllAgain()
})

test('git alone brings the merges back by another branch, since the default branch refuses a push', async () => {
  await comesBack(older)
  await expect(git(clone, 'push', '--quiet', 'origin', 'main')).rejects.toThrow('merged change requests only')
  await git(clone, 'push', '--quiet', 'origin', 'main:main-again')
  const open = ['cr', 'open', '--head', 'main-again', '--fill']
  const { number } = await server.json<{ number: number }>(open, { cwd: clone })
  expect((await server.svc(['cr', 'merge', String(number)], { cwd: clone })).code).toBe(0)
  await hasAllAgain()
})

test('an emptied repository takes the default branch by a push', async () => {
  const empty = join(dir, 'empty.git')
  await git(dir, 'init', '--quiet', '--bare', '--initial-branch=main', empty)
  await comesBack(empty)
  expect(await kinds()).toContain('missing_branch')
  await git(clone, 'push', '--quiet', 'origin', 'main')
  await hasAllAgain()
})
