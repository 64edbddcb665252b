/** POST /svc/wip at the daemon's door: what comes out is the work tree to the byte, and nothing of the agent's was touched. */
import { afterEach, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { SavedWork } from '@svc/contract/daemon/control'

import { type DaemonUnderTest, startTestDaemon, testToken, until } from '../testing.ts'

const env = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b.c', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b.c' },
}

function git(cwd: string, args: string[], input?: Uint8Array): string {
  const done = Bun.spawnSync(['git', ...args], { cwd, env, ...(input ? { stdin: input } : {}) })
  if (done.exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${done.stderr.toString()}`)
  return done.stdout.toString().trim()
}

interface World {
  work: string
  /** Stands for the server's store. */
  store: string
  pushed: string
  path(...parts: string[]): string
  write(name: string, content: string | Uint8Array): void
  save(more?: object): Promise<SavedWork & { pack: boolean; bytes: number }>
  request(more?: object, signal?: AbortSignal): Promise<Response>
  /** The saved commit in a folder of its own, as the files lie there. */
  unpack(commit: string): string
}

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function makeWorld(
  files: Record<string, string> = { 'a.txt': 'one\n', '.gitignore': 'ignored/\n*.log\n' },
): Promise<World> {
  const daemon: DaemonUnderTest = await startTestDaemon()
  closers.push(async () => {
    await daemon.close()
    rmSync(daemon.folder, { recursive: true, force: true })
  })
  await daemon.daemon.booted
  const work = join(daemon.folder, 'workspace')
  const store = mkdtempSync(join(tmpdir(), 'svc-store-'))
  closers.push(() => rmSync(store, { recursive: true, force: true }))
  git(work, ['init', '--quiet', '--initial-branch=session-1'])
  const path = (...parts: string[]) => join(work, ...parts)
  const write = (name: string, content: string | Uint8Array) => {
    mkdirSync(join(path(name), '..'), { recursive: true })
    writeFileSync(path(name), content)
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  git(work, ['add', '-A'])
  git(work, ['commit', '--quiet', '-m', 'base'])
  git(store, ['init', '--quiet', '--bare', '.'])
  git(work, ['push', '--quiet', store, 'session-1'])
  const pushed = git(work, ['rev-parse', 'HEAD'])
  const have: string[] = []
  const limits = { file_bytes_max: 1 << 20, bytes_max: 4 << 20 }
  const request = (more: object = {}, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${daemon.port}/svc/wip`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testToken}` },
      body: JSON.stringify({ pushed: [pushed], have, message: 'work', ...limits, ...more }),
      ...(signal === undefined ? {} : { signal }),
    })
  return {
    work,
    store,
    pushed,
    path,
    write,
    request,
    async save(more = {}) {
      const reply = await request(more)
      const bytes = new Uint8Array(await reply.arrayBuffer())
      if (reply.status !== 200) throw new Error(`${reply.status} ${new TextDecoder().decode(bytes)}`)
      const end = bytes.indexOf(10)
      const header = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as SavedWork & { pack: boolean }
      const pack = bytes.subarray(end + 1)
      if (header.pack) git(store, ['index-pack', '--stdin', '--fix-thin', '--strict'], pack)
      else expect(pack.length).toBe(0)
      if (header.commit !== null) {
        git(store, ['fsck', '--connectivity-only', header.commit])
        have.push(header.commit)
      }
      return { ...header, bytes: pack.length }
    },
    unpack(commit) {
      const out = mkdtempSync(join(store, 'out-'))
      mkdirSync(join(store, 'info'), { recursive: true })
      writeFileSync(join(store, 'info', 'attributes'), '* -text -filter -ident -working-tree-encoding\n')
      git(store, ['-c', 'core.bare=false', `--work-tree=${out}`, 'read-tree', '--reset', '-u', commit])
      return out
    },
  }
}

/** Everything below a folder but .git: type, executable or not, and bytes. */
function listing(dir: string, prefix = ''): Record<string, string> {
  const found: Record<string, string> = {}
  // As bytes: a name need not be text.
  for (const bytes of readdirSync(Buffer.from(dir, 'latin1'), { encoding: 'buffer' }) as Buffer[]) {
    const name = bytes.toString('latin1')
    if (name === '.git') continue
    const path = Buffer.concat([Buffer.from(`${dir}/`, 'latin1'), bytes])
    const stat = lstatSync(path)
    if (stat.isDirectory()) Object.assign(found, listing(path.toString('latin1'), `${prefix}${name}/`))
    else if (stat.isSymbolicLink()) found[prefix + name] = `link ${readlinkSync(path)}`
    else found[prefix + name] = `${stat.mode & 0o100 ? 'x' : '-'} ${readFileSync(path).toString('latin1')}`
  }
  return found
}

/** Every file below .git with its size and time: a snapshot may not leave a trace. git itself renews the times of objects it meets. */
function traces(dir: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const stat = statSync(join(dir, name))
    found[name] = stat.isDirectory() || name.startsWith('objects/') ? `${stat.size}` : `${stat.mtimeMs} ${stat.size}`
  }
  return found
}

describe('saving unfinished work', () => {
  test('saves the work tree exactly: edits, new files, deletions, modes, links, binaries, odd names', async () => {
    const world = await makeWorld({
      'a.txt': 'one\n',
      'gone.txt': 'x\n',
      'dir/file': 'd\n',
      run: '#!/bin/sh\n',
      '.gitignore': 'ignored/\n*.log\n',
    })
    const { write, path } = world
    write('a.txt', 'one\r\nmixed\nends\r\n')
    write('new dir/ünï çode\t"quoted".txt', 'odd\n')
    write('new dir/line\nbreak', 'odd too\n')
    write('-dash', 'x')
    write(':(glob)*', 'pathspec')
    write(
      'bin',
      Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7919) % 256),
    )
    write('empty', '')
    rmSync(path('gone.txt'))
    rmSync(path('dir'), { recursive: true })
    write('dir', 'a file where a folder was\n')
    chmodSync(path('run'), 0o755)
    symlinkSync('/etc/passwd', path('link'))
    symlinkSync('nowhere', path('broken link'))
    write('ignored/huge', 'no')
    write('x.log', 'no')
    git(world.work, ['add', 'a.txt'])
    write('a.txt', 'one\r\nmixed\nends again\r\n')
    const before = traces(join(world.work, '.git'))
    const expected = listing(world.work)
    delete expected['ignored/huge']
    delete expected['x.log']

    const saved = await world.save()
    expect(saved).toMatchObject({ state: 'saved', base: world.pushed, unpushed: 0, notes: [], pack: true })
    expect(listing(world.unpack(saved.commit!))).toEqual(expected)
    expect(traces(join(world.work, '.git'))).toEqual(before)
    expect(saved.paths).toContain('new dir/ünï çode\t"quoted".txt')
  })

  test('sends nothing twice, and reports a tree without changes as clean', async () => {
    const world = await makeWorld()
    expect(await world.save()).toMatchObject({ state: 'clean', commit: null, files: 0, pack: false })
    world.write('a.txt', 'two\n')
    const first = await world.save()
    const second = await world.save()
    expect(second).toMatchObject({ state: 'saved', commit: first.commit, pack: false })
    world.write('b.txt', 'b\n')
    const third = await world.save()
    expect(third.commit).not.toBe(first.commit)
    expect(third.files).toBe(2)
    git(world.work, ['checkout', '--quiet', 'a.txt'])
    rmSync(world.path('b.txt'))
    expect(await world.save()).toMatchObject({ state: 'clean' })
  })

  test('includes commits that were not pushed', async () => {
    const world = await makeWorld()
    world.write('a.txt', 'committed\n')
    git(world.work, ['commit', '--quiet', '-am', 'local'])
    const head = git(world.work, ['rev-parse', 'HEAD'])
    const saved = await world.save()
    expect(saved).toMatchObject({ state: 'saved', base: head, files: 0, unpushed: 1 })
    expect(git(world.store, ['log', '--format=%s', saved.commit!])).toBe('work\nlocal\nbase')
    expect(await world.save({ pushed: [head] })).toMatchObject({ state: 'clean' })
  })

  test('saves an ignored file once git tracks it or was told to add it', async () => {
    const world = await makeWorld()
    world.write('kept.log', 'forced\n')
    world.write('other.log', 'no\n')
    world.write('early/file', 'seen before it was ignored\n')
    git(world.work, ['add', '--force', 'kept.log'])
    const first = await world.save()
    expect(Object.keys(listing(world.unpack(first.commit!)))).toEqual(
      expect.arrayContaining(['kept.log', 'early/file']),
    )
    world.write('.gitignore', 'ignored/\n*.log\nearly/\n')
    git(world.work, ['commit', '--quiet', '-m', 'track it', 'kept.log'])
    world.write('kept.log', 'forced and changed\n')
    const second = listing(world.unpack((await world.save()).commit!))
    expect(second['kept.log']).toBe('- forced and changed\n')
    expect(second['early/file']).toBeUndefined()
    expect(second['other.log']).toBeUndefined()
  })

  test('saves a nested repository as files without its ignored files, and says so', async () => {
    const world = await makeWorld()
    mkdirSync(world.path('inner/deep'), { recursive: true })
    git(world.path('inner'), ['init', '--quiet'])
    world.write('inner/.gitignore', 'skip\n')
    world.write('inner/skip', 'no\n')
    world.write('inner/deep/file', 'yes\n')
    git(world.path('inner'), ['add', '-A'])
    git(world.path('inner'), ['commit', '--quiet', '-m', 'inner'])
    world.write('inner/deep/more', 'uncommitted\n')
    const saved = await world.save()
    expect(saved.notes).toEqual(['inner/ is a nested repository: its files are saved, its history is not.'])
    const found = listing(world.unpack(saved.commit!))
    expect(found).toMatchObject({ 'inner/deep/file': '- yes\n', 'inner/deep/more': '- uncommitted\n' })
    expect(Object.keys(found).some((name) => name.includes('skip') || name.includes('.svc-nested'))).toBe(false)
    world.write('inner/deep/more', 'again\n')
    expect(listing(world.unpack((await world.save()).commit!))['inner/deep/more']).toBe('- again\n')
  })

  test('names files that are too large, and saves the rest', async () => {
    const world = await makeWorld()
    world.write('huge.bin', new Uint8Array(2 << 20))
    world.write('small.txt', 's\n')
    const saved = await world.save()
    expect(saved.notes).toEqual(['huge.bin is larger than 1 MiB, so it is not saved.'])
    expect(saved.paths).toEqual(['small.txt'])
    for (let i = 0; i < 6; i++) world.write(`part${i}`, new Uint8Array((1 << 20) - 1).fill(i))
    const much = await world.save()
    expect(much.notes.join(' ')).toContain('together they exceed 4 MiB')
    expect(much.paths).toContain('small.txt')
  })

  test("ignores changes that git's own conversions make, and keeps the bytes of changed files", async () => {
    const world = await makeWorld({
      '.gitattributes': '*.txt text eol=crlf\n*.sh text eol=lf\n',
      'dos.txt': 'a\n',
      'other.txt': 'b\n',
    })
    git(world.work, ['rm', '--quiet', '--cached', 'dos.txt', 'other.txt'])
    git(world.work, ['checkout', 'HEAD', '--', 'dos.txt', 'other.txt'])
    expect(readFileSync(world.path('dos.txt'), 'utf8')).toBe('a\r\n')
    expect(await world.save()).toMatchObject({ state: 'clean' })
    world.write('dos.txt', 'a\r\nb\n')
    const saved = await world.save()
    expect(saved.paths).toEqual(['dos.txt'])
    expect(readFileSync(join(world.unpack(saved.commit!), 'dos.txt'), 'utf8')).toBe('a\r\nb\n')
  })

  test('saves a work tree whose repository was damaged or removed', async () => {
    const world = await makeWorld()
    world.write('new.txt', 'n\n')
    await world.save()
    renameSync(world.path('.git'), world.path('../moved'))
    const saved = await world.save()
    expect(saved).toMatchObject({ state: 'saved', base: null })
    expect(listing(world.unpack(saved.commit!))).toEqual(listing(world.work))
  })

  test('works when its own folder is missing or broken', async () => {
    const world = await makeWorld()
    world.write('new.txt', 'n\n')
    const first = await world.save()
    const ours = join(world.work, '../home/.cache/svc-unfinished-work')
    expect(existsSync(ours)).toBe(true)
    rmSync(ours, { recursive: true })
    expect((await world.save()).files).toBe(first.files)
    rmSync(join(ours, 'info'), { recursive: true })
    expect((await world.save()).files).toBe(first.files)
    writeFileSync(join(ours, 'index'), 'nonsense')
    writeFileSync(join(ours, 'svc-state.json'), '{"head": 7}')
    world.write('new.txt', 'm\n')
    const saved = await world.save()
    expect(listing(world.unpack(saved.commit!))['new.txt']).toBe('- m\n')
  })

  test.each(['index.lock', 'config.lock'])('works after a git that was killed left %s', async (lock) => {
    const world = await makeWorld()
    world.write('new.txt', 'n\n')
    await world.save()
    writeFileSync(join(world.work, '../home/.cache/svc-unfinished-work', lock), '')
    world.write('new.txt', 'm\n')
    world.write('built.out', 'b\n')
    git(world.work, ['config', 'core.excludesFile', world.path('../ignored')])
    writeFileSync(world.path('../ignored'), 'built.out\n')
    const found = listing(world.unpack((await world.save()).commit!))
    expect(found).toMatchObject({ 'new.txt': '- m\n' })
    expect(found).not.toHaveProperty('built.out')
  })
})

/** More than the buffers of the connection hold, so that the daemon waits for its caller to read. */
const large = { file_bytes_max: 64 << 20, bytes_max: 64 << 20 }

describe('a caller that gives up', () => {
  test('in the middle of the pack leaves the next save free', async () => {
    const world = await makeWorld()
    world.write('big.bin', randomBytes(16 << 20))
    const caller = new AbortController()
    expect((await world.request(large, caller.signal)).status).toBe(200)
    caller.abort()
    expect((await world.save(large)).files).toBe(1)
  })

  test('while it waits for an earlier save leaves the next save free', async () => {
    const world = await makeWorld()
    world.write('big.bin', randomBytes(16 << 20))
    const [first, waiting] = [new AbortController(), new AbortController()]
    expect((await world.request(large, first.signal)).status).toBe(200)
    const late = world.request(large, waiting.signal).catch((error: Error) => error.name)
    // An answer to a later request: the daemon has the one that waits.
    expect((await world.request({ have: 'invalid' })).status).toBe(400)
    waiting.abort()
    expect(await late).toBe('AbortError')
    expect((await world.request({ have: 'invalid' })).status).toBe(400)
    first.abort()
    expect((await world.save(large)).files).toBe(1)
  })
})

describe('access to saved work', () => {
  test('requires the service key and a valid request', async () => {
    const daemon = await startTestDaemon()
    closers.push(() => daemon.close())
    await until('the boot is over', async () => (await daemon.daemon.health()).status === 'ready')
    const ask = (headers: Record<string, string>, body: object) =>
      fetch(`http://127.0.0.1:${daemon.port}/svc/wip`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect((await ask({}, {})).status).toBe(401)
    const key = { authorization: `Bearer ${testToken}` }
    expect((await ask(key, {})).status).toBe(400)
    expect(
      (await ask(key, { pushed: ['--upload-pack=x'], have: [], message: '', file_bytes_max: 1, bytes_max: 1 })).status,
    ).toBe(400)
  })
})
