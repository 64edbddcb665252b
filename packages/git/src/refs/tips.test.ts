import { afterAll, describe, expect, test } from 'bun:test'
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { git } from '../process/git.ts'
import { LiveFlights } from './single-flight.ts'
import { createManagedRepository, openMirror } from '../mirror/mirror.ts'
import type { Remote } from '../repository.ts'
import { commit, makeRepo, serveHttpBackend, tempDir } from '../testing.ts'
import { readTips } from './tips.ts'

const temp = await tempDir()
const repo = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' }, 'feature/one': { c: '3\n' } })
afterAll(async () => {
  await temp.remove()
  await repo.remove()
})

const remoteOf = (url: string, protocol: string, credential: Remote['credential'] = null): Remote => ({
  url,
  credential,
  allowProtocols: [protocol],
})
const mirrorOf = (remote: Remote) => ({ dir: join(temp.path, 'unused.git'), remote })

async function truth() {
  const { stdout } = await git(repo.dir, ['for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads'])
  return new Map(
    stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  )
}

describe('reading tips', () => {
  test('reads tips on disk: loose, packed, moved after packing, deleted', async () => {
    expect(await readTips(repo, 'all')).toEqual({
      kind: 'tips',
      tips: await truth(),
      aliases: expect.any(Map),
      head: 'main',
    })
    await git(repo.dir, ['pack-refs', '--all'])
    expect(await readTips(repo, 'all')).toEqual({
      kind: 'tips',
      tips: await truth(),
      aliases: expect.any(Map),
      head: 'main',
    })
    const moved = await commit(repo, 'work', { b: '3\n' })
    expect(await readTips(repo, ['work', 'nowhere', 'feature', 'main/x', '../main', 'feature/one'])).toEqual({
      kind: 'tips',
      tips: new Map([
        ['work', moved],
        ['feature/one', await repo.tip('feature/one')],
      ]),
      aliases: expect.any(Map),
      head: 'main',
    })
    const many = ['work', 'main/x', '../main', 'feature/one', ...Array.from({ length: 40 }, (_, n) => `none-${n}`)]
    expect(await readTips(repo, many)).toMatchObject({
      tips: new Map([
        ['work', moved],
        ['feature/one', await repo.tip('feature/one')],
      ]),
    })
    await commit(repo, 'brief', { x: '1\n' })
    await git(repo.dir, ['pack-refs', '--all'])
    expect((await truth()).has('brief')).toBe(true)
    await git(repo.dir, ['update-ref', '-d', 'refs/heads/brief'])
    expect(await readTips(repo, 'all')).toEqual({
      kind: 'tips',
      tips: await truth(),
      aliases: expect.any(Map),
      head: 'main',
    })
  })

  test('reads a tip through a symbolic branch', async () => {
    await git(repo.dir, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/work'])
    const aliases = new Map([['alias', 'work']])
    const tips = new Map([['alias', await repo.tip('work')]])
    const host = await serveHttpBackend(repo.dir)
    const http = mirrorOf(remoteOf(host.url, 'http'))
    for (const at of [repo, http, mirrorOf(remoteOf(`file://${repo.dir}`, 'file'))]) {
      expect(await readTips(at, ['alias'])).toEqual({ kind: 'tips', tips, aliases, head: 'main' })
      expect(await readTips(at, 'all')).toMatchObject({ aliases })
      expect(await readTips(at, ['main'])).toMatchObject({ aliases: new Map() })
    }
    await host.close()
    await git(repo.dir, ['symbolic-ref', '-d', 'refs/heads/alias'])
  })

  test('reads tips over HTTP with protocol v2 without fetching anything', async () => {
    const host = await serveHttpBackend(repo.dir)
    const mirror = mirrorOf(remoteOf(host.url, 'http'))
    expect(await readTips(mirror, 'all')).toEqual({
      kind: 'tips',
      tips: await truth(),
      aliases: expect.any(Map),
      head: 'main',
    })
    expect(await readTips(mirror, ['work', 'wor', 'nowhere'])).toEqual({
      kind: 'tips',
      tips: new Map([['work', await repo.tip('work')]]),
      aliases: expect.any(Map),
      head: 'main',
    })
    expect(host.requests.filter((line) => line.startsWith('GET'))).toHaveLength(1)
    await host.close()
  })

  test('reads tips over HTTP from a host with protocol version 0 or 1', async () => {
    for (const protocol of [0, 1] as const) {
      const host = await serveHttpBackend(repo.dir, { protocol })
      expect(await readTips(mirrorOf(remoteOf(host.url, 'http')), 'all')).toEqual({
        kind: 'tips',
        tips: await truth(),
        aliases: expect.any(Map),
        head: 'main',
      })
      await host.close()
    }
  })

  test('reads tips over HTTP with a credential that never appears in the arguments', async () => {
    const auth = { username: 'x-token', password: 'p:ä"ss' }
    for (const protocol of [0, 2] as const) {
      const host = await serveHttpBackend(repo.dir, { auth, protocol })
      expect(await readTips(mirrorOf(remoteOf(host.url, 'http', auth)), ['main'])).toMatchObject({
        kind: 'tips',
        aliases: expect.any(Map),
        head: 'main',
      })
      const refused = await readTips(mirrorOf(remoteOf(host.url, 'http')), ['main'])
      expect(refused).toMatchObject({ kind: 'unreachable', reason: expect.stringContaining('credential') })
      await host.close()
    }
  })

  test('reads tips of a folder: bare, with a work tree, linked, or named without .git', async () => {
    const clone = join(temp.path, 'clone')
    await git(null, ['clone', '--quiet', '--', `file://${repo.dir}`, clone], { remote: remoteOf('file:///', 'file') })
    await symlink(repo.dir, join(temp.path, 'linked.git'))
    for (const path of [repo.dir, join(temp.path, 'linked.git'), join(temp.path, 'linked')]) {
      expect(await readTips(mirrorOf(remoteOf(`file://${path}`, 'file')), 'all')).toEqual({
        kind: 'tips',
        tips: await truth(),
        aliases: expect.any(Map),
        head: 'main',
      })
    }
    expect(await readTips(mirrorOf(remoteOf(`file://${clone}`, 'file')), 'all')).toMatchObject({
      tips: new Map([['main', await repo.tip('main')]]),
    })
    expect(await readTips(mirrorOf(remoteOf(`file://${temp.path}/nowhere`, 'file')), 'all')).toMatchObject({
      kind: 'unreachable',
    })
  })

  test('reads tips over ssh', async () => {
    // Runs what it is asked to run on the other side, here.
    const bin = join(temp.path, 'bin')
    await mkdir(bin, { recursive: true })
    await Bun.write(
      join(bin, 'ssh'),
      `#!/bin/sh\nwhile [ $# -gt 1 ]; do case "$1" in git.test|git@git.test) shift; break;; *) shift;; esac; done\nexec sh -c "$*"\n`,
    )
    await chmod(join(bin, 'ssh'), 0o755)
    const before = process.env.PATH
    process.env.PATH = `${bin}:${before}`
    try {
      expect(await readTips(mirrorOf(remoteOf(`ssh://git@git.test${repo.dir}`, 'ssh')), 'all')).toEqual({
        kind: 'tips',
        tips: await truth(),
        aliases: expect.any(Map),
        head: 'main',
      })
    } finally {
      process.env.PATH = before
    }
  })

  test('an empty repository has no tips, but an initial branch', async () => {
    const empty = await createManagedRepository(join(temp.path, 'empty.git'), { defaultBranch: 'trunk' })
    expect(await readTips(empty, 'all')).toEqual({
      kind: 'tips',
      tips: new Map(),
      aliases: expect.any(Map),
      head: 'trunk',
    })
    const host = await serveHttpBackend(empty.dir)
    expect(await readTips(mirrorOf(remoteOf(host.url, 'http')), 'all')).toEqual({
      kind: 'tips',
      tips: new Map(),
      aliases: expect.any(Map),
      head: 'trunk',
    })
    await host.close()
  })

  test('reads branches with odd but legal names', async () => {
    const odd = await makeRepo({ main: { a: '1\n' } })
    const sha = await odd.tip('main')
    const names = [
      '-dash',
      '--upload-pack=x',
      'x$(id)',
      '+main',
      'refs/heads/main',
      'HEAD',
      'a'.repeat(40),
      'ünï',
      '@',
      'a;b',
      "it's",
    ]
    for (const name of names)
      await git(odd.dir, ['update-ref', '--stdin'], { input: `create refs/heads/${name} ${sha}\n` })
    const host = await serveHttpBackend(odd.dir)
    const old = await serveHttpBackend(odd.dir, { protocol: 0 })
    const expected = {
      kind: 'tips' as const,
      tips: new Map(names.map((name) => [name, sha])),
      aliases: new Map<string, string>(),
      head: 'main',
    }
    for (const one of [
      odd,
      mirrorOf(remoteOf(host.url, 'http')),
      mirrorOf(remoteOf(old.url, 'http')),
      mirrorOf(remoteOf(`file://${odd.dir}`, 'file')),
    ]) {
      expect(await readTips(one, names)).toEqual(expected)
    }
    await host.close()
    await old.close()
    await odd.remove()
  })
})

describe('hosts with invalid replies', () => {
  async function strangeHost(
    answer: (path: string) => { status: number; headers?: Record<string, string>; body?: string } | null,
  ) {
    const server = createServer((request, response) => {
      const said = answer(request.url ?? '')
      if (said) response.writeHead(said.status, said.headers).end(said.body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = () => {
      server.closeAllConnections()
      server.close()
    }
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`, close }
  }
  const greeting = { 'content-type': 'application/x-git-upload-pack-advertisement' }

  test.each([
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'redirects to http://127.0.0.1:1/'],
    ['nothing there', { status: 404 }, 'no repository at this address'],
    ['forbidden', { status: 403 }, 'refuses this credential'],
    ['a fault', { status: 500 }, 'status 500'],
    [
      'a web page',
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
      'not respond like a git repository',
    ],
    ['nonsense', { status: 200, headers: greeting, body: 'zzzz' }, 'does not speak the git protocol'],
    ['a cut packet', { status: 200, headers: greeting, body: '00ffversion 2' }, 'is truncated'],
    ['an error packet', { status: 200, headers: greeting, body: '' }, ''],
  ])('reports a host with this reply: %s', async (_name, said, reason) => {
    const host = await strangeHost(() => said)
    const outcome = await readTips(mirrorOf(remoteOf(host.url, 'http')), ['main'], { timeoutMs: 30_000 })
    expect(outcome).toMatchObject({ kind: 'unreachable', reason: expect.stringContaining(reason) })
    host.close()
  })

  test("a silent host delays a reader only up to the reader's limit", async () => {
    const host = await strangeHost(() => null)
    const outcome = await readTips(mirrorOf(remoteOf(host.url, 'http')), ['main'], { timeoutMs: 200 })
    expect(outcome).toEqual({ kind: 'unreachable', reason: 'The repository gave no answer within 200 ms.' })
    host.close()
  })

  test('reports a host that does not exist', async () => {
    expect(await readTips(mirrorOf(remoteOf('http://127.0.0.1:1/x.git', 'http')), ['main'])).toMatchObject({
      kind: 'unreachable',
    })
  })

  test('connects to the checked address of a pinned name and to no other', async () => {
    const host = await serveHttpBackend(repo.dir)
    const url = host.url.replace('127.0.0.1', 'git.example.test')
    const pinned = { ...remoteOf(url, 'http'), pin: ['127.0.0.1'] }
    expect(await readTips(mirrorOf(pinned), ['main'])).toMatchObject({ kind: 'tips', head: 'main' })
    const old = await serveHttpBackend(repo.dir, { protocol: 0 })
    const oldPinned = { ...remoteOf(old.url.replace('127.0.0.1', 'old.example.test'), 'http'), pin: ['127.0.0.1'] }
    expect(await readTips(mirrorOf(oldPinned), ['main'])).toMatchObject({ kind: 'tips', head: 'main' })
    await host.close()
    await old.close()
  })

  test('an aborted reader stops waiting', async () => {
    const host = await strangeHost(() => null)
    const giveUp = new AbortController()
    const reading = readTips(mirrorOf(remoteOf(host.url, 'http')), ['main'], { signal: giveUp.signal })
    giveUp.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
    await reading.catch(() => {})
    host.close()
  })
})

describe('sharing one request', () => {
  /** A flight leaves at the end of the turn it was asked for in. */
  const left = () => new Promise<void>((resolve) => setImmediate(resolve))

  test('a reader never gets an answer that was requested before its own question', async () => {
    let asked = 0
    const release: (() => void)[] = []
    const flights = new LiveFlights<string[], { asked: number; names: string[] }>(
      (names) => {
        const mine = ++asked
        return new Promise((resolve) => release.push(() => resolve({ asked: mine, names })))
      },
      (one, other) => [...one, ...other],
    )
    const first = flights.ask('k', ['a'])
    await left()
    const late = [flights.ask('k', ['b']), flights.ask('k', ['c'])]
    expect(asked).toBe(1)
    release[0]?.()
    expect(await first).toEqual({ asked: 1, names: ['a'] })
    await left()
    expect(asked).toBe(2)
    const later = flights.ask('k', ['d'])
    release[1]?.()
    expect(await Promise.all(late)).toEqual([
      { asked: 2, names: ['b', 'c'] },
      { asked: 2, names: ['b', 'c'] },
    ])
    await left()
    release[2]?.()
    expect(await later).toEqual({ asked: 3, names: ['d'] })
  })

  test('a failed request fails only for its own readers', async () => {
    let asked = 0
    const flights = new LiveFlights<null, number>(
      async () => {
        if (++asked === 1) throw new Error('crashed')
        return asked
      },
      () => null,
    )
    const first = flights.ask('k', null)
    await left()
    const second = flights.ask('k', null)
    await expect(first).rejects.toThrow('crashed')
    expect(await second).toBe(2)
    expect(await flights.ask('k', null)).toBe(3)
  })

  test('fifty readers cost the host two requests, and all see an earlier push', async () => {
    const host = await serveHttpBackend(repo.dir)
    const mirror = mirrorOf(remoteOf(host.url, 'http'))
    await readTips(mirror, ['main'])
    for (let round = 0; round < 5; round++) {
      const before = host.requests.length
      const sha = await commit(repo, 'work', { round: `${round}\n` })
      const answers = await Promise.all(Array.from({ length: 50 }, () => readTips(mirror, ['work'])))
      for (const one of answers) expect(one).toMatchObject({ tips: new Map([['work', sha]]) })
      expect(host.requests.length - before).toBeLessThanOrEqual(2)
    }
    await host.close()
  })

  test('reading tips needs no mirror folder', async () => {
    const host = await serveHttpBackend(repo.dir)
    const mirror = await openMirror(join(temp.path, 'fresh.git'), remoteOf(host.url, 'http'))
    await readTips(mirror, 'all')
    expect((await git(mirror.dir, ['for-each-ref'])).stdout.toString()).toBe('')
    await host.close()
  })
})
