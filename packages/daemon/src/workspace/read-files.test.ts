/** POST /svc/files at the daemon's door: the work tree as it is now, and nothing beyond it, whatever the agent made there. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import type { ReadFilesReply, WorkTreeEntry } from '@svc/contract/daemon/work-tree'

import { type DaemonUnderTest, startTestDaemon, testToken, until } from '../testing.ts'

const gitEnv = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b.c', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b.c' },
}

let daemon: DaemonUnderTest
let work: string

function run(command: string[], cwd = work): void {
  const done = Bun.spawnSync(command, { cwd, env: gitEnv })
  if (done.exitCode !== 0) throw new Error(`${command.join(' ')}: ${done.stderr.toString()}`)
}

/** The name is bytes, as in Latin-1. */
function write(name: string, content: string | Uint8Array): void {
  const path = Buffer.from(join(work, name), 'latin1')
  mkdirSync(path.subarray(0, path.lastIndexOf(47)), { recursive: true })
  writeFileSync(path, content)
}

async function ask(path: unknown, token = testToken): Promise<{ status: number; body: ReadFilesReply }> {
  const reply = await fetch(`http://127.0.0.1:${daemon.port}/svc/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ path }),
  })
  return { status: reply.status, body: (await reply.json()) as ReadFilesReply }
}

async function read(path: string): Promise<ReadFilesReply> {
  const { status, body } = await ask(path)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

async function list(path: string): Promise<Record<string, WorkTreeEntry>> {
  const reply = await read(path)
  if (reply.kind !== 'directory') throw new Error(`${path} is ${reply.kind}`)
  return Object.fromEntries(reply.entries.map((entry) => [entry.name, entry]))
}

async function states(path: string): Promise<Record<string, string | null>> {
  return Object.fromEntries(Object.values(await list(path)).map(({ name, git }) => [name, git]))
}

async function textOf(path: string): Promise<string> {
  const reply = await read(path)
  return 'content_base64' in reply ? Buffer.from(reply.content_base64, 'base64').toString() : reply.kind
}

beforeAll(async () => {
  daemon = await startTestDaemon()
  await daemon.daemon.booted
  work = join(daemon.folder, 'workspace')
  run(['git', 'init', '--quiet', '--initial-branch=session-1'])
  write('src/a.ts', 'export const a = 1\n')
  write('src/deep/b.ts', 'b\n')
  write('docs/c.md', 'c\n')
  write('.gitignore', 'node_modules/\n*.log\n')
  write('caf\xe9.txt', 'latin\n')
  write('übung.txt'.replace('ü', '\xc3\xbc'), 'utf-8\n')
  run(['git', 'add', '-A'])
  run(['git', 'commit', '--quiet', '-m', 'base'])
})
afterAll(async () => {
  await daemon.close()
  rmSync(daemon.folder, { recursive: true, force: true })
})

describe('the files as they are now', () => {
  test('a folder has its entries with kind, size and what git says of each', async () => {
    write('src/a.ts', 'export const a = 22\n')
    write('src/new.ts', 'n\n')
    write('fresh/one/two.ts', '2\n')
    write('node_modules/x/index.js', 'x\n')
    write('docs/debug.log', 'log\n')
    write('run.sh', '#!/bin/sh\n')
    chmodSync(join(work, 'run.sh'), 0o755)
    mkdirSync(join(work, 'empty'))

    const top = await list('')
    expect(Object.keys(top)).not.toContain('.git')
    expect(top['src']).toEqual({ name: 'src', kind: 'directory', size: null, git: 'changed' })
    expect(top['run.sh']).toEqual({ name: 'run.sh', kind: 'executable', size: 10, git: 'new' })
    expect(await states('')).toMatchObject({
      ...{ docs: 'committed', fresh: 'new', node_modules: 'ignored', empty: 'new', '.gitignore': 'committed' },
      ...{ 'caf\xe9.txt': 'committed', '\xc3\xbcbung.txt': 'committed' },
    })
    expect(await states('src')).toEqual({ 'a.ts': 'changed', 'new.ts': 'new', deep: 'committed' })
    expect(await states('docs')).toEqual({ 'c.md': 'committed', 'debug.log': 'ignored' })
    expect(await states('fresh/one')).toEqual({ 'two.ts': 'new' })
    expect(await states('node_modules/x')).toEqual({ 'index.js': 'ignored' })
    expect(await read('src')).toMatchObject({ git: 'changed', truncated: false })
    expect(await read('docs')).toMatchObject({ git: 'committed' })
    expect(await read('empty')).toMatchObject({ git: 'new', entries: [] })
  })

  test('a file has its bytes, its size, and what git says of it', async () => {
    expect(await textOf('src/a.ts')).toBe('export const a = 22\n')
    expect(await read('src/a.ts')).toMatchObject({ kind: 'file', git: 'changed', size: 20 })
    expect(await read('src/deep/b.ts')).toMatchObject({ git: 'committed' })
    expect(await read('node_modules/x/index.js')).toMatchObject({ git: 'ignored' })
    expect(await read('fresh/one/two.ts')).toMatchObject({ git: 'new' })
    expect(await read('run.sh')).toMatchObject({ kind: 'executable', git: 'new' })
    expect(await textOf('caf\xe9.txt')).toBe('latin\n')
    expect(await read('caf\xe9.txt')).toMatchObject({ git: 'committed' })
    expect(await textOf('\xc3\xbcbung.txt')).toBe('utf-8\n')
  })

  test('reading changes nothing of git, also where the index is out of date', async () => {
    const index = join(work, '.git/index')
    const before = await Bun.file(index).bytes()
    write('docs/c.md', 'c\n')
    await read('docs')
    expect(await Bun.file(index).bytes()).toEqual(before)
  })

  test('without a repository the files are still there, and nothing is said about git', async () => {
    run(['mv', '.git', '.moved'])
    expect(await states('docs')).toEqual({ 'c.md': null, 'debug.log': null })
    expect(await read('docs/c.md')).toMatchObject({ kind: 'file', git: null })
    run(['mv', '.moved', '.git'])
  })

  test('the files of a submodule have no state, since only its own git knows', async () => {
    mkdirSync(join(work, 'sub'))
    for (const args of [
      ['init', '-q'],
      ['commit', '-q', '--allow-empty', '-m', 's'],
    ])
      run(['git', ...args], join(work, 'sub'))
    run(['git', 'add', 'sub'])
    run(['git', 'commit', '--quiet', '-m', 'sub'])
    write('sub/f.txt', 'f\n')
    expect(await states('sub')).toEqual({ 'f.txt': null })
    expect(await read('sub/f.txt')).toMatchObject({ kind: 'file', git: null })
  })
})

describe('a hostile work tree', () => {
  test.each(['..', '../etc', 'src/../../etc/passwd', '/etc/passwd', './src', 'src//a.ts', 'src/', 'a\0b', '/'])(
    'nothing is outside of it: %j',
    async (path) => {
      expect(await read(path)).toEqual({ kind: 'missing', why: 'absent' })
    },
  )

  test('refuses a path that is none, or too long', async () => {
    for (const path of [5, null, undefined, ['a'], {}, 'a'.repeat(4_097)]) expect((await ask(path)).status).toBe(400)
  })

  test('refuses a caller without the key of the sandbox', async () => {
    expect((await ask('', 'svc_sbx_other')).status).toBe(401)
  })

  test('git keeps its own files to itself', async () => {
    for (const path of ['.git', '.git/config', 'src/.git/hooks'])
      expect(await read(path)).toEqual({ kind: 'missing', why: 'git' })
  })

  test('a link is shown and never followed, neither to a file nor through a folder', async () => {
    for (const [name, target] of [
      ['passwd', '/etc/passwd'],
      ['etc', '/etc'],
      ['up', '../..'],
      ['zero', '/dev/zero'],
      ['proc', '/proc/self/root'],
      ['inside', 'src'],
      ['loop', 'loop'],
    ] as const)
      symlinkSync(target, join(work, name))
    expect(await read('passwd')).toEqual({ kind: 'symlink', git: 'new', target: '/etc/passwd' })
    expect(await read('zero')).toEqual({ kind: 'symlink', git: 'new', target: '/dev/zero' })
    expect(await read('loop')).toMatchObject({ kind: 'symlink' })
    for (const path of ['etc/passwd', 'up/x', 'proc/etc/passwd', 'inside/a.ts', 'loop/x'])
      expect(await read(path)).toEqual({ kind: 'missing', why: 'link' })
    expect((await list(''))['etc']).toMatchObject({ kind: 'symlink', size: null })
  })

  test('a pipe or a socket is named, and does not block', async () => {
    run(['mkfifo', 'pipe'])
    expect(await read('pipe')).toMatchObject({ kind: 'special' })
    expect((await list(''))['pipe']).toMatchObject({ kind: 'special', size: null })
    expect(await read('pipe/x')).toEqual({ kind: 'missing', why: 'absent' })
  })

  test('a file that becomes a link or a pipe again and again never shows what is outside', async () => {
    const swap = [
      'while :; do ln -sfn /etc/passwd race; rm -f race; mkfifo race; rm -f race; echo inside > race; rm -f race;',
      'rm -rf way; mkdir way; echo inside > way/passwd; rm -rf way; ln -sfn /etc way; done',
    ]
    const racer = Bun.spawn(['/bin/sh', '-c', swap.join(' ')], { cwd: work, stderr: 'ignore', detached: true })
    try {
      for (let turn = 0; turn < 12; turn++)
        for (const path of ['race', 'way/passwd']) {
          const reply = await read(path)
          if ('content_base64' in reply) expect(['', 'inside\n']).toContain(await contentOf(reply))
        }
    } finally {
      process.kill(-racer.pid, 'SIGKILL')
      await racer.exited
    }
  })

  const contentOf = async ({ content_base64: content }: { content_base64: string }) =>
    Buffer.from(content, 'base64').toString()

  test('of three gigabytes only the beginning is read', async () => {
    const file = openSync(join(work, 'huge.log'), 'w')
    ftruncateSync(file, 3 * 1024 ** 3)
    closeSync(file)
    const reply = await read('huge.log')
    expect(reply).toMatchObject({ kind: 'file', size: 3 * 1024 ** 3, git: 'ignored' })
    expect('content_base64' in reply && reply.content_base64.length).toBe(Math.ceil((4 * 1024 * 1024) / 3) * 4)
    unlinkSync(join(work, 'huge.log'))
  })

  test('of a hundred thousand entries the first five thousand are listed', async () => {
    mkdirSync(join(work, 'node_modules/many'), { recursive: true })
    run(['/bin/sh', '-c', 'seq -f %06g 100000 | xargs touch'], join(work, 'node_modules/many'))
    const reply = await read('node_modules/many')
    if (reply.kind !== 'directory') throw new Error(reply.kind)
    expect(reply.entries).toHaveLength(5_000)
    expect(reply).toMatchObject({ truncated: true, git: 'ignored' })
    expect(reply.entries[0]!.name).toBe('000001')
    rmSync(join(work, 'node_modules/many'), { recursive: true })
  })

  test('names of any bytes are listed and read: line ends, quotes, reversed text, no UTF-8', async () => {
    const names = ['a\nb', '"quoted"', '\xe2\x80\xaegnp.exe', '\xff\xfe', ' ', '-rf', '*', ':(exclude)x', '\\x']
    for (const name of names) write(`odd/${name}`, 'odd\n')
    expect(Object.keys(await list('odd')).toSorted()).toEqual(names.toSorted())
    for (const name of names) expect([name, await textOf(`odd/${name}`)]).toEqual([name, 'odd\n'])
    expect(await states('odd')).toMatchObject({ '*': 'new', '\xff\xfe': 'new', '-rf': 'new' })
  })

  // Root reads everything.
  test.skipIf(process.getuid?.() === 0)('a file that the agent may not read is named as such', async () => {
    write('closed/secret', 's')
    chmodSync(join(work, 'closed/secret'), 0)
    expect(await read('closed/secret')).toEqual({ kind: 'missing', why: 'denied' })
  })

  test('a filter that never ends keeps git from answering, and nobody from reading', async () => {
    run(['git', 'config', 'filter.hang.clean', 'sleep 61234'])
    write('.gitattributes', '*.hang filter=hang\n')
    write('slow/a.hang', 'one\n')
    const index = ['git', '-c', 'filter.hang.clean=cat', 'add', 'slow']
    run(index)
    // As long as before, so that git has to look into it.
    write('slow/a.hang', 'two\n')
    expect(await read('slow/a.hang')).toMatchObject({ kind: 'file', git: null, size: 4 })
    expect(await states('slow')).toEqual({ 'a.hang': null })
    const left = () => Bun.spawnSync(['pgrep', '-f', '^sleep 61234$']).stdout.toString()
    await until('the filter to be gone', () => left() === '')
    rmSync(join(work, 'slow'), { recursive: true })
    run(['git', 'rm', '--quiet', '--cached', '-r', 'slow'])
    unlinkSync(join(work, '.gitattributes'))
  }, 120_000)

  test("git's settings in the repository start no program", async () => {
    const trap = join(work, 'trap.sh')
    writeFileSync(trap, `#!/bin/sh\ntouch ${work}/trapped\n`, { mode: 0o755 })
    for (const name of ['core.fsmonitor', 'core.hooksPath', 'core.pager', 'diff.external'])
      run(['git', 'config', name, trap])
    expect(await states('docs')).toMatchObject({ 'c.md': 'committed' })
    expect(Object.keys(await list(''))).not.toContain('trapped')
  })
})
