/** A server at work is backed up, a backup is killed in the middle, and each backup is restored elsewhere and goes on. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOwnedDatabase, type OwnedDatabase } from '../../packages/server/src/startup/testing-move.ts'
import { programOf } from '../../packages/server/src/startup/testing-program.ts'
import { type Acknowledged, hasEverything, manifest, staysOpen, Work } from './acknowledged-work.ts'
import { document } from './document.ts'
import { gatewayOf, git, makeFirstCommit, program, removeFolder, run, Server, ServerProcess, until } from './harness.ts'

setDefaultTimeout(300_000)

class Restored extends ServerProcess {
  readonly env: Record<string, string>
  constructor(dir: string, env: Record<string, string>) {
    super(dir)
    this.env = env
  }
  async boot(): Promise<void> {
    if (!(await this.launch([program, 'server'], this.env))) throw new Error(this.output)
  }
}

let server: Server
let dir: string
let backups: string
let external: string
let target: OwnedDatabase
const copies: Restored[] = []

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-backup-'))
  backups = join(dir, 'backups')
  target = await createOwnedDatabase()
  server = await Server.start()
})
afterAll(async () => {
  for (const copy of copies) await copy.kill('SIGTERM')
  await server?.end()
  await target?.drop()
  await removeFolder(dir)
})

interface BackedUp {
  backup_id: string
  added_bytes: number
  missing: object[]
  backups: number
  removed: string[]
}

/** As the operator runs it: on the server's machine, with the server's settings. */
const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env, cwd: dir })

const backUp = (...flags: string[]) => document<BackedUp>(selfHost(['backup', backups, '--json', ...flags]))

/** A place of its own, with the master key of the original. */
async function placeFor(name: string, more: Record<string, string> = {}): Promise<Record<string, string>> {
  const place = join(dir, name)
  await cp(server.env.SVC_MASTER_KEY_FILE!, join(place, 'master.key'), { recursive: true })
  return {
    ...server.env,
    HOME: place,
    SVC_PORT: '0',
    SVC_DATA_DIR: join(place, 'data'),
    SVC_MASTER_KEY_FILE: join(place, 'master.key'),
    SVC_CONFIG_FILE: join(place, 'config.json'),
    ...more,
  }
}

function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

interface Session {
  session_id: string
  status: string
  error: string | null
  branch_name: string
}

const ids = { busy: '', outside: '', running: '', away: '' }
const at = (project: string, path: string) => `/v1/projects/${project}${path}`

async function newSession(on: ServerProcess, project: string, prompt: string): Promise<string> {
  const body = { model: 'svc-scripted-demo', initial_prompt: prompt }
  return (await on.send<Session>('POST', at(project, '/sessions'), body)).session_id
}

async function untilSaved(project: string, session: string): Promise<void> {
  await until('unfinished work to be saved', async () => {
    const work = await server.send<{ saved_at: string | null }>('GET', at(project, `/sessions/${session}/wip`))
    return work.saved_at !== null
  })
}

test('a server has repositories of its own and of a host, sessions with unfinished work, a trigger and a secret', async () => {
  ids.busy = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'busy'])).project_id
  await makeFirstCommit(server, ids.busy, { 'svc.toml': manifest })
  external = join(dir, 'host.git')
  await git(dir, 'clone', '--quiet', '--bare', gatewayOf(server, { project_id: ids.busy }), external)
  const made = ['projects', 'create', '--repo', `file://${external}`, '--name', 'outside']
  ids.outside = (await server.json<{ project_id: string }>(made)).project_id
  await server.send('POST', at(ids.busy, '/secrets'), { name: 'KEY', value: 'a-value-that-is-sealed' })
  ids.running = await newSession(server, ids.busy, script('echo work > unfinished.txt'))
  ids.away = await newSession(server, ids.outside, script('echo work > unfinished.txt'))
  await untilSaved(ids.busy, ids.running)
  await untilSaved(ids.outside, ids.away)
  work = new Work(server, { project: ids.busy, dir, session: ids.running })
})

let work: Work
const taken: { id: string; acknowledged: Acknowledged }[] = []

/** What is acknowledged when a backup begins is in it. */
async function backUpAtWork(): Promise<BackedUp> {
  const acknowledged = work.now()
  const made = await backUp()
  taken.push({ id: made.backup_id, acknowledged })
  return made
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

test('backs up while work goes on, also after a backup was killed in the middle', async () => {
  work.begin()
  await work.more()
  const first = await backUpAtWork()
  expect(first).toMatchObject({ missing: [], backups: 1 })

  await work.more()
  // In a program with failpoints. What was packed by then is used again.
  for (const point of ['backup.after_tables', 'backup.after_pack', 'backup.after_state', 'backup.before_manifest']) {
    const killed = Bun.spawn([...(await programOf('svc')), 'server', '--backup'], {
      env: { ...server.env, SVC_FAILPOINTS: `${point}=kill` },
      stdin: new TextEncoder().encode(JSON.stringify({ place: backups, keyFile: null, keep: null })),
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await killed.exited
    expect([point, killed.signalCode]).toEqual([point, 'SIGKILL'])
    const listed = await document<{ backups: { backup_id: string }[] }>(selfHost(['backups', backups, '--json']))
    expect(listed.backups.map(({ backup_id }) => backup_id)).toEqual([first.backup_id])
  }
  const second = await backUpAtWork()
  expect(second).toMatchObject({ missing: [], backups: 2 })
  await work.more()
  const third = await backUpAtWork()
  expect(third).toMatchObject({ missing: [], backups: 3 })
  await work.end()
  // Nothing of the interrupted one is left.
  const names = (await filesIn(backups)).map((path) => path.slice(backups.length + 1))
  expect(names.filter((name) => name.endsWith('.partial'))).toEqual([])
  const kept = new Set(names.flatMap((name) => (name.startsWith('data/') ? [name.split('/')[1]] : [])))
  expect([...kept].toSorted()).toEqual([first, second, third].map(({ backup_id }) => backup_id).toSorted())
})

test('the running server agrees with itself', async () => {
  expect(await document(selfHost(['check', '--json']))).toEqual({
    ...{ projects: 2, repositories: 2, disagreements: [] },
    elsewhere: { projects: 0, homes: [] },
  })
})

test('refuses to restore without the master key of the backup, and into a folder that is not empty', async () => {
  const env = await placeFor('refused')
  const without = await selfHost(['restore', backups], { ...env, SVC_MASTER_KEY_FILE: join(dir, 'none') })
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('There is no master key at')])
  await Bun.write(join(dir, 'other.key'), `${Buffer.alloc(32, 7).toString('base64')}\n`)
  const wrong = await selfHost(['restore', backups], { ...env, SVC_MASTER_KEY_FILE: join(dir, 'other.key') })
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('is not the one of the backup')])
  const busy = await selfHost(['restore', backups])
  expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining('is not empty')])
  expect(await readdir(join(dir, 'refused'))).toEqual(['master.key'])
})

async function restored(name: string, backup: string[], more: Record<string, string> = {}): Promise<Restored> {
  const env = await placeFor(name, more)
  await document(selfHost(['restore', backups, ...backup, '--json'], env))
  expect(await document(selfHost(['check', '--json'], env))).toMatchObject({ repositories: 2, disagreements: [] })
  const copy = new Restored(join(dir, name), env)
  copies.push(copy)
  await copy.boot()
  copy.token = server.token
  return copy
}

async function hasAll(copy: Restored, acknowledged: Acknowledged): Promise<void> {
  await hasEverything(copy, { project: ids.busy, dir, session: ids.running }, acknowledged)
  for (const [project, session] of [
    [ids.busy, ids.running],
    [ids.outside, ids.away],
  ] as const) {
    const work = await copy.send<{ files: number }>('GET', at(project, `/sessions/${session}/wip`))
    expect(work.files).toBe(1)
  }
}

async function resume(copy: Restored): Promise<void> {
  expect(await document(selfHost(['resume', '--json'], copy.env))).toMatchObject({ resumed: true })
  await until(
    'the server to act',
    async () => (await copy.send<{ held: object | null }>('GET', '/v1/ready')).held === null,
  )
}

/** Merges what was open and starts a session, as a server that works does. */
async function works(copy: Restored): Promise<void> {
  const { change_requests: open } = await copy.send<{ change_requests: { cr_id: string; head_ref: string }[] }>(
    'GET',
    at(ids.busy, '/change-requests?status=open'),
  )
  // Not one whose merge was under way at the snapshot: the server finishes that by itself.
  const left = open.find(({ head_ref }) => staysOpen(head_ref))!
  await copy.send('POST', at(ids.busy, `/change-requests/${left.cr_id}/merge`))
  const session = await newSession(copy, ids.busy, script('echo "the key has ${#KEY} letters"'))
  await until('the agent to answer', async () => {
    return JSON.stringify(await copy.send('GET', at(ids.busy, `/sessions/${session}/transcript`))).includes(
      'key has 22',
    )
  })
  await copy.send('POST', at(ids.busy, `/sessions/${session}/stop`))
}

test('restores the newest backup to the embedded database: held until resume, then it works', async () => {
  const copy = await restored('embedded', [])
  expect(copy.output).toContain('Held         restored from a backup of')
  const ready = await copy.send<{ held: { backup_id: string } }>('GET', '/v1/ready')
  expect(ready.held.backup_id).toBe(taken[2]!.id)
  await hasAll(copy, taken[2]!.acknowledged)
  const session = await copy.send<Session>('GET', at(ids.busy, `/sessions/${ids.running}`))
  expect([session.status, session.error]).toEqual(['stopped', expect.stringContaining('restored from a backup')])
  const refused = await copy.api(at(ids.busy, `/sessions/${ids.running}/restart`), { method: 'POST' })
  expect([refused.status, await refused.json()]).toEqual([
    503,
    expect.objectContaining({ code: 'unavailable', held: true, hint: expect.stringContaining('svc self-host resume') }),
  ])
  const pushing = git(
    join(dir, 'clone-a'),
    'push',
    '--quiet',
    gatewayOf(copy, { project_id: ids.busy }),
    'HEAD:refs/heads/late',
  )
  await expect(pushing).rejects.toThrow(/remote: This server was restored from a backup and is held\./)

  await resume(copy)
  await works(copy)
  expect(await document(selfHost(['check', '--json'], copy.env))).toMatchObject({ disagreements: [] })
  const again = await selfHost(['resume'], copy.env)
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('Nothing is held here.')])
  await copy.kill('SIGTERM')
})

test('restores the one in between as well', async () => {
  const copy = await restored('between', ['--backup', taken[1]!.id])
  await hasAll(copy, taken[1]!.acknowledged)
  await resume(copy)
  await works(copy)
  await copy.kill('SIGTERM')
})

test('restores the earliest backup to another PostgreSQL', async () => {
  const more = { DATABASE_URL: target.url, SVC_ALLOW_PRIVATE_GIT_HOSTS: '1', SVC_FILE_REPOSITORY_ROOTS: dir }
  const copy = await restored('external', ['--backup', taken[0]!.id], more)
  await hasAll(copy, taken[0]!.acknowledged)
  await resume(copy)
  await works(copy)
  await copy.kill('SIGTERM')
  const full = await selfHost(['restore', backups], await placeFor('full', more))
  expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('is not empty')])
})

test('an encrypted backup shows no content, and opens with its key file alone', async () => {
  const folder = join(dir, 'encrypted')
  const key = join(dir, 'backups.key')
  await document(selfHost(['backup', folder, '--encrypt', key, '--json']))
  const written = await selfHost(['backup', folder])
  expect([written.code, written.stderr]).toEqual([1, expect.stringContaining('are encrypted for age1')])
  const texts = await Promise.all((await filesIn(folder)).map((path) => readFile(path, 'latin1')))
  for (const word of ['work-1', 'unfinished']) expect(texts.filter((text) => text.includes(word))).toEqual([])

  const env = await placeFor('opened')
  const without = await selfHost(['restore', folder], env)
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('Give its key file with --key')])
  await document(selfHost(['restore', folder, '--key', key, '--json'], env))
  expect(await document(selfHost(['check', '--json'], env))).toMatchObject({ repositories: 2, disagreements: [] })
  // The settings have it.
  const settings = { SVC_BACKUP_DIR: folder, SVC_BACKUP_KEY_FILE: key }
  await document(selfHost(['restore', folder, '--json'], { ...(await placeFor('opened-by-settings')), ...settings }))
})

test('keeps as many backups as asked, and a backup without changes adds little', async () => {
  await server.send('POST', at(ids.busy, `/sessions/${ids.running}/stop`))
  await server.send('POST', at(ids.outside, `/sessions/${ids.away}/stop`))
  // A month would be meant by 1m, and by nothing shorter than a day.
  for (const [keep, code] of [
    ['1m', 2],
    ['12h', 1],
  ] as const) {
    const refused = await selfHost(['backup', backups, '--keep', keep])
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining('an age of at least a day such as')])
  }
  const next = await backUp('--keep', '2')
  expect([next.backups, next.removed]).toEqual([2, taken.slice(0, 2).map(({ id }) => id)])
  await server.kill('SIGTERM')
  const last = await backUp('--keep', '2')
  expect(last.removed).toEqual([taken[2]!.id])
  const packs = async () => (await filesIn(join(backups, 'packs'))).filter((path) => path.endsWith('.pack')).length
  const had = await packs()
  await backUp()
  expect(await packs()).toBe(had)
  // What remains can still be restored.
  await document(selfHost(['restore', backups, '--json'], await placeFor('last')))
})

test('says what disagrees', async () => {
  const env = await placeFor('damaged')
  await document(selfHost(['restore', backups, '--json'], env))
  const store = join(env.SVC_DATA_DIR!, 'repositories', `${ids.busy}.git`)
  await git(store, 'update-ref', '-d', `refs/svc/wip/${ids.running}`)
  await git(store, 'update-ref', 'refs/heads/main', await git(store, 'rev-list', '--max-parents=0', 'main'))
  await git(dir, 'init', '--quiet', '--bare', join(env.SVC_DATA_DIR!, 'repositories', `${crypto.randomUUID()}.git`))
  const { code, stdout } = await selfHost(['check', '--json'], env)
  const { disagreements } = JSON.parse(stdout) as { disagreements: { kind: string }[] }
  expect(code).toBe(1)
  expect([...new Set(disagreements.map(({ kind }) => kind))].toSorted()).toEqual([
    'lost_work',
    'rewound_branch',
    'unknown_repository',
  ])
})

test('a repository that is damaged in the backup is named, and everything else can be restored', async () => {
  const copied = join(dir, 'damaged-backups')
  await cp(backups, copied, { recursive: true })
  const pack = (await filesIn(join(copied, 'packs', ids.busy))).find((path) => path.endsWith('.pack'))!
  const bytes = await readFile(pack)
  bytes[bytes.length - 1]! ^= 1
  await writeFile(pack, bytes)
  const env = await placeFor('without-damaged')
  const refused = await selfHost(['restore', copied], env)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain(`The repository of the project ${ids.busy} cannot be restored. The file packs/`)
  expect(refused.stderr).toContain('--accept-loss')
  const rest = await selfHost(['restore', copied, '--accept-loss', '--json'], env)
  expect(JSON.parse(rest.stdout)).toMatchObject({
    missing: [{ project_id: ids.busy, reason: expect.stringContaining('is damaged') }],
  })
  const { stdout } = await selfHost(['check', '--json'], env)
  const { disagreements } = JSON.parse(stdout) as { disagreements: object[] }
  expect(disagreements).toMatchObject([{ kind: 'missing_repository', project_id: ids.busy }])
})
