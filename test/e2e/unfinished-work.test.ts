/** Unpushed work of an agent survives any end of its sandbox exactly, except for ignored files. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveHttpBackend } from '@svc/git/testing'
import { git, run, Server, until } from './harness.ts'

const minute = 60_000
let server: Server
let dir: string
let bare: string
let project: string
let host: Awaited<ReturnType<typeof serveHttpBackend>>

interface Wip {
  saved_at: string | null
  commit: string | null
  files: number
  unpushed_commits: number
  generation: number | null
}
interface Info {
  session: { status: string; error: string | null; sandbox: { sandbox_id: string; generation: number } | null }
  unfinished_work: Wip
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-wip-'))
  server = await Server.start()
  const seed = join(dir, 'seed')
  await Bun.write(join(seed, 'a.txt'), 'one\n')
  await Bun.write(join(seed, 'gone.txt'), 'gone\n')
  await Bun.write(join(seed, 'run.sh'), 'echo hi\n')
  await Bun.write(join(seed, '.gitignore'), 'ignored/\n')
  await git(seed, 'init', '--quiet', '--initial-branch=main')
  await git(seed, 'add', '-A')
  await git(seed, 'commit', '--quiet', '-m', 'First')
  bare = join(dir, 'host.git')
  await git(dir, 'clone', '--quiet', '--bare', seed, bare)
  await git(bare, 'config', 'http.receivepack', 'true')
  host = await serveHttpBackend(bare)
  const made = await server.json<{ project_id: string }>(['projects', 'create', '--repo', host.url])
  project = made.project_id
}, 3 * minute)

afterAll(async () => {
  await server?.end()
  await host?.close()
  await rm(dir, { recursive: true, force: true })
}, minute)

/** Every kind of change a work tree can have. */
const edits = [
  `printf 'two\\r\\nthree' > a.txt`,
  'rm gone.txt',
  'chmod +x run.sh',
  'mkdir -p "new dir" ignored',
  `printf 'odd' > "new dir/$(printf 'l\\303\\274ne\\nbreak')"`,
  `head -c 300000 /dev/zero | tr '\\0' '\\377' > bin`,
  'ln -s /nowhere link',
  `echo no > ignored/file`,
]

function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

/** Everything in a work tree but .git and what is ignored: kind, executable or not, bytes. */
function listing(top: string, prefix = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(join(top, prefix))) {
    if (prefix === '' && (name === '.git' || name === 'ignored')) continue
    const path = join(top, prefix, name)
    const stat = lstatSync(path)
    if (stat.isDirectory()) Object.assign(found, listing(top, join(prefix, name)))
    else if (stat.isSymbolicLink()) found[join(prefix, name)] = `link ${readlinkSync(path)}`
    else found[join(prefix, name)] = `${stat.mode & 0o100 ? 'x' : '-'} ${readFileSync(path).toString('latin1')}`
  }
  return found
}

async function clone(name: string): Promise<string> {
  const into = join(dir, name)
  await git(dir, 'clone', '--quiet', host.url, into)
  return into
}

/** The result of the edits in a clone, made here without our code. */
async function expectedTree(name: string, more: string[] = []): Promise<Record<string, string>> {
  const top = await clone(name)
  const done = await run(['/bin/bash', '-ec', [...edits, ...more].join('\n')], { cwd: top })
  expect(done.stderr).toBe('')
  return listing(top)
}

async function sessionWith(...commands: string[]): Promise<string> {
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--project', project],
    ...['--prompt', script(...commands)],
  ])
  return made.session_id
}

const info = (id: string) => server.json<Info>(['sessions', 'info', id, '--project', project])

async function savedWith(id: string, files: number): Promise<Info> {
  return until(`${files} files of ${id} to be saved`, async () => {
    const found = await info(id)
    if (found.session.status === 'failed') throw new Error(`The session failed: ${found.session.error}`)
    return found.unfinished_work.files === files && found.unfinished_work.commit !== null ? found : null
  })
}

/** The bubblewrap processes below the server. */
function sandboxes(): number[] {
  const parents = new Map<number, number>()
  const names = new Map<number, string>()
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
      names.set(Number(name), stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')))
    } catch {
      // Gone while we looked.
    }
  }
  const isOurs = (pid: number): boolean => pid === server.pid || (pid > 1 && isOurs(parents.get(pid) ?? 0))
  return [...names].filter(([pid, name]) => name === 'bwrap' && isOurs(pid)).map(([pid]) => pid)
}

test(
  'unfinished work comes back into a clone exactly after kill -9 of the sandbox',
  async () => {
    const expected = await expectedTree('expected')
    const id = await sessionWith(...edits)
    const saved = await savedWith(id, 6)
    expect(saved.session.status).toBe('running')
    for (const pid of sandboxes()) process.kill(pid, 'SIGKILL')
    await until('the session to be failed', async () => (await info(id)).session.status === 'failed')

    const top = await clone('recovered')
    const done = await server.svc(['sessions', 'recover', id, '--project', project], { cwd: top })
    expect(done.code).toBe(0)
    expect(listing(top)).toEqual(expected)
    expect(await git(top, 'diff', '--cached', '--name-only')).toBe('')
    expect(await git(top, 'rev-parse', 'HEAD')).toBe(await git(bare, 'rev-parse', 'main'))

    // A work tree with changes of its own is left alone; a branch touches no file.
    const again = await server.svc(['sessions', 'recover', id, '--project', project], { cwd: top })
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('has uncommitted changes')
    const onBranch = await server.svc(['sessions', 'recover', id, '--branch', 'rescued', '--project', project], {
      cwd: top,
    })
    expect(onBranch.code).toBe(0)
    expect(await git(top, 'rev-parse', 'rescued^')).toBe(await git(bare, 'rev-parse', 'main'))

    // Only the service stores it.
    expect((await git(bare, 'for-each-ref', '--format=%(refname)')).split('\n').toSorted()).toEqual(
      ['refs/heads/main', `refs/heads/${id}`].toSorted(),
    )
    expect(await git(bare, 'rev-parse', id)).toBe(await git(bare, 'rev-parse', 'main'))
    const store = join(server.dir, 'data', 'mirrors', `${project}.git`)
    expect(await git(store, 'rev-parse', `refs/svc/wip/${id}`)).toBe(saved.unfinished_work.commit!)
    const listed = await server.svc(['sessions', 'ls', '--project', project], { env: { FORCE_COLOR: '0' } })
    expect(listed.stdout).toContain('6 files')
  },
  4 * minute,
)

test(
  'a restarted session recovers its work, including unpushed commits, after kill -9 of the server',
  async () => {
    const commit = [`git add a.txt && git commit -q -m 'not pushed'`, `printf 'after' >> a.txt`]
    const id = await sessionWith(...edits, ...commit)
    const before = await until('the commit to be saved', async () => {
      const found = await info(id)
      const { unpushed_commits: commits, files } = found.unfinished_work
      return commits === 1 && files === 6 ? found : null
    })
    await server.kill('SIGKILL')
    await server.boot()
    await until('the session to be stopped', async () => (await info(id)).session.status === 'stopped')
    expect((await info(id)).unfinished_work.commit).toBe(before.unfinished_work.commit)

    await server.json(['sessions', 'restart', id, '--wait', '--project', project])
    // It starts clean from its branch, and what it had is still there.
    expect((await info(id)).unfinished_work).toMatchObject({ commit: before.unfinished_work.commit, generation: 1 })
    const back = await server.json<{ files: number }>([
      'sessions',
      'recover',
      id,
      '--into-sandbox',
      '--project',
      project,
    ])
    expect(back.files).toBe(6)
    expect((await info(id)).unfinished_work.generation).not.toBe(1)

    const asked = await server.svc([
      ...['sessions', 'chat', id, '--project', project, '--prompt'],
      script('git log --format=%s -2', 'git status --porcelain -z | tr "\\0" "|"', 'tail -c 5 a.txt'),
    ])
    expect(asked.code).toBe(0)
    const transcript = JSON.stringify(
      await (await server.api(`/v1/projects/${project}/sessions/${id}/transcript`)).json(),
    )
    expect(transcript).toContain('not pushed\\nFirst')
    expect(transcript).toMatch(/ D gone\.txt\| M run\.sh/)
    expect(transcript).toContain('after')

    // A stop saves before it ends the sandbox, and the clone gets the commit's changes as well.
    await server.json(['sessions', 'stop', id, '--project', project])
    const top = await clone('recovered-again')
    const done = await server.json<{ unpushed_commits: number }>(['sessions', 'recover', id, '--project', project], {
      cwd: top,
    })
    expect(done.unpushed_commits).toBe(1)
    expect(listing(top)).toEqual(await expectedTree('expected-again', [`printf 'after' >> a.txt`]))

    // Where the same lines changed meanwhile nothing is touched.
    const other = await clone('conflicting')
    await Bun.write(join(other, 'a.txt'), 'another\n')
    await git(other, 'commit', '--quiet', '-am', 'Another way')
    const refused = await server.svc(['sessions', 'recover', id, '--project', project], { cwd: other })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('conflicts with this work tree: a.txt')
    expect(await git(other, 'status', '--porcelain')).toBe('')
    // And what is saved nowhere is never overwritten.
    const third = await clone('in-the-way')
    mkdirSync(join(third, 'new dir'))
    symlinkSync('mine', join(third, 'link'))
    chmodSync(join(third, 'run.sh'), 0o644)
    const blocked = await server.svc(['sessions', 'recover', id, '--project', project], { cwd: third })
    expect(blocked.code).toBe(1)
    expect(blocked.stderr).toContain('would be overwritten: link')
    expect(readlinkSync(join(third, 'link'))).toBe('mine')
    expect(await git(third, 'diff', '--name-only')).toBe('')

    // A start that saves something else leaves the work of the one before in reach.
    const earlier = (await info(id)).unfinished_work.generation!
    await server.json(['sessions', 'restart', id, '--wait', '--project', project])
    const more = ['sessions', 'chat', id, '--project', project, '--prompt', script(`printf 'later' > later.txt`)]
    expect((await server.svc(more)).code).toBe(0)
    await until('the work of the new start', async () => (await info(id)).unfinished_work.generation !== earlier)
    const recover = ['sessions', 'recover', id, '--project', project, '--start']
    const fourth = await clone('of-an-earlier-start')
    expect((await server.svc([...recover, String(earlier)], { cwd: fourth })).code).toBe(0)
    expect(listing(fourth)).toEqual(await expectedTree('expected-of-earlier', [`printf 'after' >> a.txt`]))
    const missing = await server.svc([...recover, '99'], { cwd: fourth })
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('No work of start 99 is saved')])
  },
  5 * minute,
)

test(
  'a restored project has the unfinished work of its sessions, whose sandboxes ended with the deletion',
  async () => {
    const expected = await expectedTree('expected-after-restore')
    const id = await sessionWith(...edits)
    await savedWith(id, 6)
    const asked = await server.svc(['projects', 'rm', project])
    expect(asked.code).toBe(2)
    expect((await server.svc(['projects', 'rm', project, '--yes'])).code).toBe(0)
    expect(sandboxes()).toEqual([])
    expect((await server.svc(['sessions', 'ls', '--project', project])).code).toBe(1)

    expect((await server.svc(['projects', 'restore', project])).code).toBe(0)
    const { session, unfinished_work: work } = await info(id)
    expect([session.status, work.files]).toEqual(['stopped', 6])
    const top = await clone('restored')
    expect((await server.svc(['sessions', 'recover', id, '--project', project], { cwd: top })).code).toBe(0)
    expect(listing(top)).toEqual(expected)
  },
  3 * minute,
)
