import { afterAll, describe, expect, test } from 'bun:test'
import { readdir, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { createBranch } from '../hosts/branch.ts'
import { diffCommits } from '../diff/diff.ts'
import { git, gitLine } from '../process/git.ts'
import { fetchObjects } from './repair.ts'
import { createManagedRepository, fetchBranches, openMirror, syncMirror } from './mirror.ts'
import { tidyRepository } from './tidy.ts'
import { rebuildMirror } from './repair.ts'
import { probeRemote } from './probe.ts'
import { keepCommits, keepRef, readKeptRef } from '../refs/refs.ts'
import type { Remote, Repository } from '../repository.ts'
import { commit, makeRepo, serveHttpBackend, tempDir } from '../testing.ts'
import { readTips } from '../refs/tips.ts'

const temp = await tempDir()
afterAll(() => temp.remove())
let names = 0
const freshDir = () => join(temp.path, `r${names++}.git`)
const fileRemote = (dir: string): Remote => ({ url: `file://${dir}`, credential: null, allowProtocols: ['file'] })
const httpRemote = (url: string): Remote => ({ url, credential: null, allowProtocols: ['http'] })

test('servers that fetch into one folder at the same time do not report the host as down', async () => {
  const host = await makeRepo({ main: { a: '1\n' } })
  const mirror = await openMirror(freshDir(), fileRemote(host.dir))
  try {
    for (let round = 0; round < 5; round++) {
      const names = ['main', ...Array.from({ length: 8 }, (_, n) => `topic-${n}`)]
      for (const name of names)
        await commit(host, name, { a: `${round}\n` }, { orphan: round === 0 && name !== 'main' })
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => fetchBranches(mirror, {})))
      expect(outcomes).toEqual([null, null, null, null])
    }
  } finally {
    await host.remove()
  }
})

describe('opening a mirror', () => {
  test('opens a mirror once, also for concurrent callers', async () => {
    const dir = freshDir()
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => createManagedRepository(dir, { defaultBranch: 'trunk' })),
    )
    expect(opened.every((repo) => repo.dir === dir)).toBe(true)
    const sha = await commit({ dir, remote: null }, 'trunk', { a: '1\n' }, { orphan: true })
    await createManagedRepository(dir, { defaultBranch: 'other' })
    expect(await readTips({ dir, remote: null }, 'all')).toEqual({
      kind: 'tips',
      tips: new Map([['trunk', sha]]),
      aliases: expect.any(Map),
      head: 'trunk',
    })
    expect((await readdir(temp.path)).filter((name) => name.includes('.new-'))).toEqual([])
  })

  test('removes what a killed process left behind and nothing of a live one', async () => {
    const repo = await createManagedRepository(freshDir(), { defaultBranch: 'main' })
    const dead = Bun.spawnSync(['true']).pid
    await Bun.write(join(repo.dir, `svc-scratch-${dead}-abc/objects/x`), '')
    await Bun.write(join(repo.dir, `svc-scratch-${process.pid}-abc/objects/x`), '')
    await createManagedRepository(repo.dir, { defaultBranch: 'main' })
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('svc-scratch-'))).toEqual([
      `svc-scratch-${process.pid}-abc`,
    ])
  })

  test('refuses a default branch that is no branch name', async () => {
    for (const defaultBranch of ['', 'a..b', 'a b', '.hidden', 'x.lock', 'a\nb', '/']) {
      await expect(createManagedRepository(freshDir(), { defaultBranch })).rejects.toThrow('branch name')
    }
  })
})

describe('fetching objects', () => {
  test('writes a commit graph after fetching many commits, and later ones too', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    const host = await serveHttpBackend(origin.dir)
    const mirror = await openMirror(freshDir(), httpRemote(host.url))
    const grow = async (count: number) => {
      const commits = Array.from({ length: count }, (_, n) => {
        const from = n === 0 ? 'from refs/heads/main^0\n' : ''
        return `commit refs/heads/main\ncommitter x <x@x> ${1_700_000_000 + n} +0000\ndata 1\nx\n${from}\n`
      })
      await git(origin.dir, ['fast-import', '--quiet', '--date-format=raw'], { input: commits.join('') })
      expect(await fetchObjects(mirror, [await origin.tip('main')])).toEqual({ kind: 'present' })
    }
    await grow(1)
    const later = join(mirror.dir, 'objects/info/commit-graphs/commit-graph-chain')
    await grow(3)
    expect(await Bun.file(later).exists()).toBe(false)
    await grow(600)
    expect(await Bun.file(later).exists()).toBe(true)
    await git(mirror.dir, ['commit-graph', 'verify'])
    await host.close()
    await origin.remove()
  })

  test('contacts the host only when a commit is missing, and fetches its history', async () => {
    const origin = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' } })
    const host = await serveHttpBackend(origin.dir)
    const mirror = await openMirror(freshDir(), httpRemote(host.url))
    const sha = await origin.tip('work')
    expect(await fetchObjects(mirror, [sha])).toEqual({ kind: 'present' })
    const asked = host.requests.length
    expect(await fetchObjects(mirror, [sha, await origin.tip('main')])).toEqual({ kind: 'present' })
    expect(host.requests.length).toBe(asked)
    expect(await gitLine(mirror.dir, ['rev-list', '--count', sha])).toBe('2')
    expect(await Bun.file(join(mirror.dir, 'objects/info/commit-graph')).exists()).toBe(true)
    const next = await commit(origin, 'work', { b: '3\n' })
    await git(origin.dir, ['update-ref', '-d', 'refs/heads/main'])
    expect(await fetchObjects(mirror, [next])).toEqual({ kind: 'present' })
    // Pruned, and the objects stay.
    expect(await readTips({ dir: mirror.dir, remote: null }, 'all')).toMatchObject({ tips: new Map([['work', next]]) })
    expect(await fetchObjects(mirror, ['f'.repeat(40), next])).toEqual({ kind: 'missing', shas: ['f'.repeat(40)] })
    await host.close()
    expect(await fetchObjects(mirror, ['e'.repeat(40)])).toMatchObject({ kind: 'unreachable' })
    expect(await fetchObjects(mirror, [next])).toEqual({ kind: 'present' })
    await origin.remove()
  })

  test('fetches a commit by its id that is on no branch any more', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    const first = await origin.tip('main')
    const gone = await commit(origin, 'main', { a: '2\n' })
    await git(origin.dir, ['update-ref', 'refs/heads/main', first])
    const host = await serveHttpBackend(origin.dir)
    const mirror = await openMirror(freshDir(), httpRemote(host.url))
    expect(await fetchObjects(mirror, [gone])).toEqual({ kind: 'present' })
    await host.close()
    await origin.remove()
  })

  test('fetches once for many concurrent callers', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    const host = await serveHttpBackend(origin.dir)
    const mirror = await openMirror(freshDir(), httpRemote(host.url))
    const sha = await origin.tip('main')
    await Promise.all(Array.from({ length: 10 }, () => fetchObjects(mirror, [sha])))
    expect(host.requests.filter((line) => line.startsWith('GET'))).toHaveLength(1)
    await host.close()
    await origin.remove()
  })

  test('creates a SHA-256 mirror for a SHA-256 remote', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } }, { format: 'sha256' })
    const mirror = await openMirror(freshDir(), fileRemote(origin.dir))
    const sha = await origin.tip('main')
    expect(sha).toHaveLength(64)
    expect(await fetchObjects(mirror, [sha])).toEqual({ kind: 'present' })
    expect(await diffCommits(mirror, { baseSha: sha, headSha: sha })).toMatchObject({ files: [], patch: '' })
    await origin.remove()
  })

  test('a failed fetch keeps what another server fetched into the folder meanwhile', async () => {
    const origin = await makeRepo({ main: { 'a.txt': '1\n' } })
    const mirror = await openMirror(freshDir(), fileRemote(origin.dir))
    await syncMirror(mirror)
    const only = await commit({ dir: mirror.dir, remote: null }, 'only-here', { 'mine.txt': '1\n' })
    // The other server joins all packs into one while the host lets us wait, and then fails.
    const host = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch() {
        await git(mirror.dir, ['repack', '-a', '-d', '--quiet'])
        return new Response('', { status: 500 })
      },
    })
    const broken: Repository = { dir: mirror.dir, remote: httpRemote(`http://127.0.0.1:${host.port}/x.git`) }
    expect((await fetchObjects(broken, ['1'.repeat(40)])).kind).toBe('unreachable')
    expect(await gitLine(mirror.dir, ['rev-parse', `${only}:mine.txt`])).toMatch(/^[0-9a-f]{40}$/)
    expect((await git(mirror.dir, ['fsck', '--connectivity-only'])).code).toBe(0)
    await host.stop(true)
    await origin.remove()
  })

  test('reports missing commits of a shallow remote', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    await commit(origin, 'main', { a: '2\n' })
    const shallow = freshDir()
    await git(null, ['clone', '--quiet', '--bare', '--depth=1', '--', `file://${origin.dir}`, shallow], {
      remote: fileRemote(origin.dir),
    })
    const mirror = await openMirror(freshDir(), fileRemote(shallow))
    expect(await fetchObjects(mirror, [await origin.tip('main')])).toMatchObject({ kind: 'missing' })
    await origin.remove()
  })

  test('fetches nothing for a managed repository', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    expect(await fetchObjects(repo, ['f'.repeat(40)])).toEqual({ kind: 'present' })
    await repo.remove()
  })
})

describe('following the branches of the host', () => {
  test('follows branches that were created, rewound, deleted or replaced by folders, and a new default branch', async () => {
    const origin = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' }, thing: { c: '3\n' } })
    const mirror = await openMirror(freshDir(), fileRemote(origin.dir))
    const same = async () => {
      expect(await syncMirror(mirror)).toEqual({ kind: 'present' })
      expect(await readTips({ dir: mirror.dir, remote: null }, 'all')).toEqual(await readTips(origin, 'all'))
    }
    await same()
    const first = await origin.tip('main')
    await git(origin.dir, ['update-ref', 'refs/heads/work', first])
    await git(origin.dir, ['update-ref', '-d', 'refs/heads/thing'])
    await git(origin.dir, ['update-ref', 'refs/heads/thing/inner', first])
    await git(origin.dir, ['symbolic-ref', 'HEAD', 'refs/heads/work'])
    await same()
    await commit(origin, 'main', { a: '5\n' })
    await same()
    await origin.remove()
  })
})

describe('repairing a mirror', () => {
  test('rebuilds a broken mirror on the next request and keeps the refs that only it has', async () => {
    const origin = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' } })
    const mirror = await openMirror(freshDir(), fileRemote(origin.dir))
    const pair = { baseSha: await origin.tip('main'), headSha: await origin.tip('work') }
    await fetchObjects(mirror, [pair.baseSha, pair.headSha])
    const kept = await commit({ dir: mirror.dir, remote: null }, 'mine', { mine: 'unsaved work\n' })
    await keepRef(mirror, 'wip/session-1', kept)
    await git(mirror.dir, ['update-ref', '-d', 'refs/heads/mine'])
    const packs = join(mirror.dir, 'objects/pack')
    for (const name of await readdir(packs)) {
      if (!name.endsWith('.pack') || (await Bun.file(join(packs, name)).text()).length === 0) continue
      const sizeOfBroken = await gitLine(mirror.dir, ['show-index'], {
        input: await Bun.file(join(packs, name.replace('.pack', '.idx'))).bytes(),
      })
      if (sizeOfBroken.includes(pair.headSha)) await truncate(join(packs, name), 40)
    }
    expect(await diffCommits(mirror, pair)).toMatchObject({ files: [{ path: 'b', status: 'added' }] })
    expect(await readKeptRef(mirror, 'wip/session-1')).toBe(kept)
    await origin.remove()
  })

  test('rebuilding copies the kept refs', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    const mirror = await openMirror(freshDir(), fileRemote(origin.dir))
    const sha = await origin.tip('main')
    await fetchObjects(mirror, [sha])
    const wip = await commit({ dir: mirror.dir, remote: null }, 'scratch', { mine: '1\n' }, { from: sha })
    await keepRef(mirror, 'wip/s1', wip)
    await git(mirror.dir, ['update-ref', '-d', 'refs/heads/scratch'])
    expect(await rebuildMirror(mirror)).toEqual({ kind: 'present' })
    expect(await readKeptRef(mirror, 'wip/s1')).toBe(wip)
    expect(await gitLine(mirror.dir, ['cat-file', '-t', `${wip}^{tree}`])).toBe('tree')
    expect((await readdir(temp.path)).filter((name) => name.endsWith('.broken'))).toEqual([])
    await origin.remove()
    expect(await rebuildMirror(mirror)).toMatchObject({ kind: 'unreachable' })
    expect(await readKeptRef(mirror, 'wip/s1')).toBe(wip)
  })

  test('resumes a rebuild that was interrupted between its renames', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    const mirror = await openMirror(freshDir(), fileRemote(origin.dir))
    await fetchObjects(mirror, [await origin.tip('main')])
    await keepCommits(mirror, { number: 7, base: await origin.tip('main'), head: await origin.tip('main') })
    await git(null, ['--version'])
    Bun.spawnSync(['mv', mirror.dir, `${mirror.dir}.broken`])
    await openMirror(mirror.dir, fileRemote(origin.dir))
    expect(await readKeptRef(mirror, 'cr/7/head')).toBe(await origin.tip('main'))
    await origin.remove()
  })
})

describe('keeping commits', () => {
  test('maintenance keeps all commits, even those without a ref', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const first = await repo.tip('main')
    const gone = await commit(repo, 'main', { a: '2\n' })
    await git(repo.dir, ['update-ref', 'refs/heads/main', first])
    await keepCommits(repo, { number: 3, base: first, head: gone })
    const orphan = await commit(repo, 'lost', { x: '1\n' })
    await git(repo.dir, ['update-ref', '-d', 'refs/heads/lost'])
    await tidyRepository(repo)
    await tidyRepository(repo)
    expect(await readKeptRef(repo, 'cr/3/base')).toBe(first)
    expect(await readKeptRef(repo, 'cr/3/head')).toBe(gone)
    for (const sha of [first, gone, orphan]) expect(await gitLine(repo.dir, ['cat-file', '-t', sha])).toBe('commit')
    await repo.remove()
  })

  test('refuses invalid numbers and names of kept refs', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const sha = await repo.tip('main')
    for (const number of [0, -1, 1.5, Number.NaN])
      await expect(keepCommits(repo, { number, base: sha, head: sha })).rejects.toThrow()
    for (const name of ['../heads/main', 'a b', '', 'x..y', 'a\nb'])
      await expect(keepRef(repo, name, sha)).rejects.toThrow()
    await repo.remove()
  })
})

describe('createBranch', () => {
  const odd = [
    '-dash',
    '--upload-pack=x',
    'x$(id)',
    '+main',
    'refs/heads/main',
    'HEAD',
    'b'.repeat(40),
    'ünï/çødé',
    'a;b',
  ]

  test.each(['managed', 'external'])(
    'a %s repository: creates a branch, keeps an existing one, and accepts odd names',
    async (kind) => {
      const origin = await makeRepo({ main: { a: '1\n' } })
      const first = await origin.tip('main')
      const second = await commit(origin, 'main', { a: '2\n' })
      const host = await serveHttpBackend(origin.dir)
      const repo: Repository = kind === 'managed' ? origin : await openMirror(freshDir(), httpRemote(host.url))
      expect(await createBranch(repo, { branch: 'session-1', sha: first })).toEqual({ kind: 'created' })
      expect(await createBranch(repo, { branch: 'session-1', sha: second })).toEqual({ kind: 'exists' })
      expect(await createBranch(repo, { branch: 'session-1', sha: first })).toEqual({ kind: 'exists' })
      expect(await createBranch(repo, { branch: 'session-1/below', sha: first })).toMatchObject({ kind: 'rejected' })
      expect(await origin.tip('session-1')).toBe(first)
      for (const branch of odd) expect(await createBranch(repo, { branch, sha: second })).toEqual({ kind: 'created' })
      for (const branch of odd) expect(await origin.tip(branch)).toBe(second)
      expect(await origin.tip('main')).toBe(second)
      for (const branch of ['', 'a..b', 'a:b', 'a b', 'x.lock', '-\n', '/a'])
        await expect(createBranch(repo, { branch, sha: second })).rejects.toThrow('branch name')
      await host.close()
      await origin.remove()
    },
    120_000,
  )

  test('one of many concurrent callers creates the branch, and the others see it', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const sha = await repo.tip('main')
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => createBranch(repo, { branch: 'same', sha })))
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['created', ...Array<'exists'>(7).fill('exists')])
    await repo.remove()
  })

  test('reports a host that refuses or is down', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } })
    const readOnly = await serveHttpBackend(origin.dir, { readOnly: true })
    const mirror = await openMirror(freshDir(), httpRemote(readOnly.url))
    const sha = await origin.tip('main')
    expect(await createBranch(mirror, { branch: 'x', sha })).toMatchObject({ kind: 'rejected' })
    await readOnly.close()
    expect(await createBranch(mirror, { branch: 'x', sha })).toMatchObject({ kind: 'unreachable' })
    await origin.remove()
  })
})

describe('probeRemote', () => {
  test('reports the permissions on a remote and changes nothing', async () => {
    const origin = await makeRepo({ trunk: { a: '1\n' } })
    const open = await serveHttpBackend(origin.dir)
    const readOnly = await serveHttpBackend(origin.dir, { readOnly: true })
    const closed = await serveHttpBackend(origin.dir, { auth: { username: 'u', password: 'p' } })
    const before = (await git(origin.dir, ['for-each-ref'])).stdout.toString()
    expect(await probeRemote(httpRemote(open.url))).toEqual({
      kind: 'writable',
      reason: null,
      defaultBranch: 'trunk',
      empty: false,
    })
    expect(await probeRemote(httpRemote(readOnly.url))).toMatchObject({
      kind: 'readable',
      reason: expect.stringContaining('refuses'),
      defaultBranch: 'trunk',
    })
    expect(await probeRemote(httpRemote(closed.url))).toMatchObject({ kind: 'unauthorized' })
    expect(
      await probeRemote({ ...httpRemote(closed.url), credential: { username: 'u', password: 'p' } }),
    ).toMatchObject({ kind: 'writable' })
    expect(await probeRemote(httpRemote(`${open.url}-nowhere`))).toMatchObject({ kind: 'unreachable' })
    expect(await probeRemote(httpRemote('http://127.0.0.1:1/x.git'))).toMatchObject({ kind: 'unreachable' })
    expect(await probeRemote(fileRemote(origin.dir))).toMatchObject({ kind: 'writable', defaultBranch: 'trunk' })
    expect(await probeRemote(fileRemote(join(temp.path, 'nowhere')))).toMatchObject({ kind: 'unreachable' })
    expect((await git(origin.dir, ['for-each-ref'])).stdout.toString()).toBe(before)
    await rm(join(origin.dir, 'refs/heads/trunk'), { force: true })
    for (const host of [open, readOnly, closed]) await host.close()
    await origin.remove()
  })

  test('reports an empty repository as empty and writable', async () => {
    const empty = await createManagedRepository(freshDir(), { defaultBranch: 'main' })
    expect(await probeRemote(fileRemote(empty.dir))).toEqual({
      kind: 'writable',
      reason: null,
      defaultBranch: 'main',
      empty: true,
    })
  })
})
