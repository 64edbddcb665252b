import { describe, expect, test } from 'bun:test'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { diffCommits } from '../diff/diff.ts'
import { serveGateway } from './gateway.ts'
import { git, gitLine } from '../process/git.ts'
import { keepCommits, readKeptRef } from '../refs/refs.ts'
import type { Repository } from '../repository.ts'
import { commit, makeRepo, serveGatewayOverHttp } from '../testing.ts'
import { clientAt, makeClient } from './testing-client.ts'
import { anything, cloned, closing, committed, setUp } from './testing-setup.ts'

describe.each(['managed', 'external'] as const)('a real git client with a repository that is %s', (kind) => {
  test.each(['0', '1', '2'])('clones and fetches with protocol version %s', async (version) => {
    const setup = await setUp(kind)
    const clone = await cloned(setup, '-c', `protocol.version=${version}`)
    expect((await clone.run('rev-parse', 'HEAD', 'origin/work')).out.split('\n')).toEqual([
      await setup.origin.tip('main'),
      await setup.origin.tip('work'),
    ])
    expect((await clone.run('symbolic-ref', 'HEAD')).out).toBe('refs/heads/main')
    const next = await commit(setup.origin, 'main', { 'a.txt': 'next\n' })
    expect((await clone.run('-c', `protocol.version=${version}`, 'pull', '--quiet')).code).toBe(0)
    expect((await clone.run('rev-parse', 'HEAD')).out).toBe(next)
  })

  test.each(['0', '2'])('a clone checks out the default branch, whatever it was (version %s)', async (version) => {
    const setup = await setUp(kind, anything, { allowDelete: true })
    const head = async (name: string) => {
      const done = await setup.client.run('-c', `protocol.version=${version}`, 'clone', '--quiet', setup.url, name)
      expect(done).toMatchObject({ code: 0 })
      return (await clientAt(join(setup.client.cwd, name)).run('symbolic-ref', 'HEAD')).out
    }
    expect(await head('before')).toBe('refs/heads/main')
    setup.served.defaultBranch = 'work'
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(head))).toEqual(Array(4).fill('refs/heads/work'))
    if (kind === 'external') await git(setup.origin.dir, ['config', 'receive.denyDeleteCurrent', 'ignore'])
    const clone = clientAt(join(setup.client.cwd, 'a'))
    expect(await clone.run('push', '--quiet', 'origin', '--delete', 'main')).toMatchObject({ code: 0 })
    expect(await setup.origin.tip('main').catch(() => null)).toBeNull()
    if (kind === 'managed') {
      await writeFile(join(setup.origin.dir, 'HEAD'), '')
      expect(await head('after a power cut')).toBe('refs/heads/work')
      return
    }
    setup.served.defaultBranch = 'main'
    // The host renamed it: a clone of its own choice is better than an empty one.
    await git(setup.origin.dir, ['symbolic-ref', 'HEAD', 'refs/heads/work'])
    expect(await head('after')).toBe('refs/heads/work')
  })

  test('serves shallow, partial and single-branch clones', async () => {
    const setup = await setUp(kind)
    await commit(setup.origin, 'main', { 'a.txt': '2\n' })
    for (const flags of [['--depth=1'], ['--filter=blob:none'], ['--single-branch', '--branch=work'], ['--bare']]) {
      const name = `c${flags[0]}`
      expect(await setup.client.run('clone', '--quiet', ...flags, setup.url, name)).toMatchObject({ code: 0 })
    }
    expect(await clientAt(join(setup.client.cwd, 'c--depth=1')).run('fetch', '--quiet', '--unshallow')).toMatchObject({
      code: 0,
    })
  })

  test.each(['1', '2'])(
    'accepts a push from a clone of depth %s when the repository has its history',
    async (depth) => {
      const setup = await setUp(kind, anything, { allowForce: true })
      for (const text of ['2\n', '3\n']) await commit(setup.origin, 'main', { 'a.txt': text })
      const before = await setup.origin.tip('main')
      expect(await setup.client.run('clone', '--quiet', `--depth=${depth}`, setup.url, 'clone')).toMatchObject({
        code: 0,
      })
      const clone = clientAt(join(setup.client.cwd, 'clone'))
      const first = await committed(clone, 'mine.txt', '1\n')
      expect(await clone.run('push', '--quiet', 'origin', 'HEAD:new')).toMatchObject({ code: 0, err: '' })
      expect(await setup.origin.tip('new')).toBe(first)
      // The clone knows no tip of the repository any more.
      await commit(setup.origin, 'main', { 'a.txt': '4\n' }, { from: before })
      await git(setup.origin.dir, ['update-ref', '-d', 'refs/heads/new'])
      await clone.run('commit', '--quiet', '--amend', '-m', 'again')
      expect(await clone.run('push', '--quiet', '--force', 'origin', 'HEAD:new')).toMatchObject({ code: 0, err: '' })
      expect(await gitLine(setup.origin.dir, ['rev-parse', 'new^'])).toBe(before)
      expect(await gitLine(setup.origin.dir, ['rev-list', '--count', 'new'])).toBe('4')
      await git(setup.origin.dir, ['fsck', '--connectivity-only'])
    },
  )

  test('refuses a push from a shallow clone whose history the repository lacks, and says what to do', async () => {
    const setup = await setUp(kind, anything)
    const elsewhere = await makeRepo({ main: { 'x.txt': '1\n' } })
    closing.push(elsewhere.remove)
    for (const text of ['2\n', '3\n']) await commit(elsewhere, 'main', { 'x.txt': text })
    const from = `file://${elsewhere.dir}`
    expect(await setup.client.run('clone', '--quiet', '--depth=1', from, 'clone')).toMatchObject({ code: 0 })
    const clone = clientAt(join(setup.client.cwd, 'clone'))
    const before = await setup.origin.tip('main')
    const refused = await clone.run('push', setup.url, 'HEAD:new')
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('Run `git fetch --unshallow`, then push again.'),
    })
    expect([await setup.origin.tip('new').catch(() => null), await setup.origin.tip('main')]).toEqual([null, before])
    expect(await clone.run('fetch', '--quiet', '--unshallow')).toMatchObject({ code: 0 })
    expect(await clone.run('push', '--quiet', setup.url, 'HEAD:new')).toMatchObject({ code: 0 })
  })

  test('accepts a push to the session branch, and the repository has it before the pusher is told', async () => {
    const setup = await setUp(kind)
    const clone = await cloned(setup)
    await clone.run('checkout', '--quiet', 'work')
    const sha = await committed(clone, 'new.txt', 'hello\n')
    const pushed = await clone.run('push', 'origin', 'HEAD')
    expect(pushed).toMatchObject({ code: 0 })
    expect(await setup.origin.tip('work')).toBe(sha)
    expect(
      (await diffCommits(setup.served, { baseSha: await setup.origin.tip('main'), headSha: sha })).files.map(
        ({ path }) => path,
      ),
    ).toEqual(['b.txt', 'new.txt'])
    expect((await readdir(setup.served.dir)).filter((name) => name.startsWith('svc-scratch-'))).toEqual([])
    // Again and again, without a fetch in between.
    for (let i = 0; i < 3; i++) {
      const again = await committed(clone, 'new.txt', `${i}\n`)
      expect(await clone.run('push', '--quiet', 'origin', 'HEAD')).toMatchObject({ code: 0 })
      expect(await setup.origin.tip('work')).toBe(again)
    }
  })

  test('accepts large pushes in chunks and gzip-compressed requests', async () => {
    const setup = await setUp(kind)
    const clone = await cloned(setup)
    await clone.run('checkout', '--quiet', 'work')
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(65536))).toString('base64')
    const sha = await committed(
      clone,
      'big.bin',
      Array.from({ length: 60 }, (_, index) => `${index}${noise}`).join('\n'),
    )
    expect(await clone.run('push', '--quiet', 'origin', 'HEAD')).toMatchObject({ code: 0 })
    expect(await setup.origin.tip('work')).toBe(sha)
    for (let i = 0; i < 40; i++) await commit(setup.origin, 'main', { 'a.txt': `${i}\n` })
    expect(await clone.run('fetch', '--quiet')).toMatchObject({ code: 0 })
  })

  test('refuses every other push with the reason and moves nothing', async () => {
    const setup = await setUp(kind)
    const clone = await cloned(setup)
    const before = (await git(setup.origin.dir, ['for-each-ref'])).stdout.toString()
    await clone.run('checkout', '--quiet', 'work')
    await committed(clone, 'x', 'x\n')
    const refused: [string[], string][] = [
      [['HEAD:main'], 'svc cr open'],
      [['HEAD:other'], 'its own branch work only'],
      [['HEAD', 'HEAD:main'], 'its own branch work only'],
      [[':work'], 'deletes refs/heads/work'],
      [['HEAD:refs/tags/v1'], 'its own branch work only'],
      [['HEAD:refs/svc/cr/1/head'], 'belongs to the service'],
      [['HEAD:refs/pull/1/head'], 'belongs to the service'],
      [['HEAD:refs/notes/x'], 'Only branches and tags'],
      [['--force', 'HEAD~2:work'], 'non-fast-forward'],
      [['--mirror'], 'Only branches and tags'],
    ]
    for (const [refspecs, reason] of refused) {
      const pushed = await clone.run('push', 'origin', ...refspecs)
      expect({ refspecs, code: pushed.code }).toEqual({ refspecs, code: 1 })
      expect(pushed.err).toContain(reason)
    }
    expect((await git(setup.origin.dir, ['for-each-ref'])).stdout.toString()).toBe(before)
  })

  test('sends the reason for a refused large push', async () => {
    const setup = await setUp(kind)
    const clone = await cloned(setup)
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(65536))).toString('base64')
    await committed(clone, 'big.bin', Array.from({ length: 100 }, (_, index) => `${index}${noise}`).join('\n'))
    expect((await clone.run('push', 'origin', 'HEAD:main')).err).toContain('svc cr open')
  })

  test('asks a pusher with an outdated base to fetch first', async () => {
    const setup = await setUp(kind)
    const clone = await cloned(setup)
    await clone.run('checkout', '--quiet', 'work')
    await committed(clone, 'x', 'x\n')
    const other = await commit(setup.origin, 'work', { y: 'y\n' })
    expect((await clone.run('push', 'origin', 'HEAD')).err).toContain('fetch first')
    expect(await setup.origin.tip('work')).toBe(other)
  })

  test('allows forced pushes, deletions, tags, new branches and atomic pushes with permission', async () => {
    const setup = await setUp(kind, anything, { allowForce: true, allowDelete: true })
    const clone = await cloned(setup)
    await clone.run('checkout', '--quiet', 'work')
    const first = await setup.origin.tip('main')
    expect(await clone.run('push', '--force', 'origin', 'origin/main:work')).toMatchObject({ code: 0 })
    expect(await setup.origin.tip('work')).toBe(first)
    expect(await clone.run('push', '--atomic', 'origin', 'HEAD:refs/heads/new', 'HEAD:refs/tags/v1')).toMatchObject({
      code: 0,
    })
    expect(await gitLine(setup.origin.dir, ['rev-parse', 'refs/tags/v1'])).toBe(
      (await clone.run('rev-parse', 'HEAD')).out,
    )
    expect(await clone.run('push', 'origin', ':new')).toMatchObject({ code: 0 })
    expect((await git(setup.origin.dir, ['for-each-ref', 'refs/heads/new'])).stdout.toString()).toBe('')
  })

  test('neither shows nor moves refs of the service', async () => {
    const setup = await setUp(kind, anything)
    await cloned(setup)
    await keepCommits(setup.served, {
      number: 1,
      base: await setup.origin.tip('main'),
      head: await setup.origin.tip('work'),
    })
    for (const version of ['0', '1', '2']) {
      expect((await setup.client.run('-c', `protocol.version=${version}`, 'ls-remote', setup.url)).out).not.toContain(
        'refs/svc',
      )
    }
    for (const service of ['git-upload-pack', 'git-receive-pack']) {
      expect(await (await fetch(`${setup.url}/info/refs?service=${service}`)).text()).not.toContain('refs/svc')
    }
    const push = await setup.client.run('-C', 'clone', 'push', setup.url, ':refs/svc/cr/1/head')
    expect(push.err).toContain('belongs to the service')
    expect(await readKeptRef(setup.served, 'cr/1/head')).toBe(await setup.origin.tip('work'))
  })

  test('lets the caller inspect pushed objects before any ref moves', async () => {
    const seen: string[] = []
    const setup = await setUp(kind, anything, {
      inspect: async ({ repo, updates }) => {
        const [update] = updates
        if (!update) return null
        const { patch } = await diffCommits(repo, { baseSha: update.oldSha, headSha: update.newSha })
        seen.push(patch)
        return patch.includes('+hunter2') ? 'secret.txt line 1 holds a secret of this project' : null
      },
    })
    const clone = await cloned(setup)
    await clone.run('checkout', '--quiet', 'work')
    await committed(clone, 'secret.txt', 'hunter2\n')
    const before = await setup.origin.tip('work')
    expect((await clone.run('push', 'origin', 'HEAD')).err).toContain('secret.txt line 1 holds a secret')
    expect(await setup.origin.tip('work')).toBe(before)
    expect(seen).toHaveLength(1)
    await clone.run('reset', '--quiet', '--hard', 'origin/work')
    await committed(clone, 'fine.txt', 'fine\n')
    expect(await clone.run('push', '--quiet', 'origin', 'HEAD')).toMatchObject({ code: 0 })
  })

  test('refuses broken objects', async () => {
    const setup = await setUp(kind, anything)
    const clone = await cloned(setup)
    const commitText = `tree ${(await clone.run('rev-parse', 'HEAD^{tree}')).out}\nauthor x\ncommitter y <y> 1 +0000\n\nbad\n`
    await clone.write('bad', commitText)
    const bad = (await clone.run('hash-object', '-t', 'commit', '-w', '--literally', 'bad')).out
    const pushed = await clone.run('push', 'origin', `${bad}:refs/heads/bad`)
    expect(pushed.code).toBe(1)
    // The error says what is wrong, not only that something is.
    expect(pushed.err).toMatch(/unpack failed: index-pack abnormal exit: .*(?:fsck|\.git)/i)
  })

  test('accepts the first push into an empty repository', async () => {
    const setup = await setUp(kind, anything)
    await git(setup.origin.dir, ['update-ref', '-d', 'refs/heads/main'])
    await git(setup.origin.dir, ['update-ref', '-d', 'refs/heads/work'])
    expect(await setup.client.run('clone', '--quiet', setup.url, 'empty')).toMatchObject({ code: 0 })
    const clone = clientAt(join(setup.client.cwd, 'empty'))
    await clone.run('checkout', '--quiet', '-B', 'main')
    const sha = await committed(clone, 'first', '1\n')
    expect(await clone.run('push', '--quiet', 'origin', 'HEAD')).toMatchObject({ code: 0 })
    expect(await setup.origin.tip('main')).toBe(sha)
  })

  test('accepts twenty concurrent pushes to different branches', async () => {
    const setup = await setUp(kind, anything)
    const clone = await cloned(setup)
    const shas = new Map<string, string>()
    for (let i = 0; i < 20; i++) {
      await clone.run('checkout', '--quiet', '-B', `b${i}`, 'origin/main')
      shas.set(`b${i}`, await committed(clone, `f${i}`, `${i}\n`))
    }
    const pushes = await Promise.all(
      [...shas.keys()].map((branch) => clone.run('push', '--quiet', 'origin', `${branch}:${branch}`)),
    )
    expect(pushes.map(({ code, err }) => ({ code, err }))).toEqual(pushes.map(() => ({ code: 0, err: '' })))
    for (const [branch, sha] of shas) expect(await setup.origin.tip(branch)).toBe(sha)
  }, 120_000)
})

describe('SHA-256 repositories', () => {
  test('clones and pushes to a managed SHA-256 repository', async () => {
    const origin = await makeRepo({ main: { a: '1\n' } }, { format: 'sha256' })
    const server = await serveGatewayOverHttp(origin, anything)
    const client = await makeClient()
    expect(await client.run('clone', '--quiet', server.url, 'clone')).toMatchObject({ code: 0 })
    const clone = clientAt(join(client.cwd, 'clone'))
    const sha = await committed(clone, 'b', '2\n')
    expect(await clone.run('push', '--quiet', 'origin', 'HEAD:refs/heads/new')).toMatchObject({ code: 0 })
    expect(sha).toHaveLength(64)
    expect(await origin.tip('new')).toBe(sha)
    await server.close()
    await client.remove()
    await origin.remove()
  })
})

describe('an external repository', () => {
  test("passes the message of the host's hook to the pusher, and keeps the mirror unchanged", async () => {
    const setup = await setUp('external', anything)
    const clone = await cloned(setup)
    await Bun.write(join(setup.origin.dir, 'hooks/pre-receive'), '#!/bin/sh\necho "signed commits only" >&2\nexit 1\n')
    Bun.spawnSync(['chmod', '+x', join(setup.origin.dir, 'hooks/pre-receive')])
    await clone.run('checkout', '--quiet', 'work')
    const before = await setup.origin.tip('work')
    await committed(clone, 'x', 'x\n')
    const pushed = await clone.run('push', 'origin', 'HEAD')
    expect(pushed.code).toBe(1)
    expect(pushed.err).toContain('remote: signed commits only')
    expect(pushed.err).toContain('pre-receive hook declined')
    expect(await gitLine(setup.served.dir, ['rev-parse', 'refs/heads/work'])).toBe(before)
  })

  test('answers 502 with a reason when the host is down, or serves the mirror on request', async () => {
    const setup = await setUp('external')
    const stale = await serveGatewayOverHttp(setup.served, anything, { staleOk: true })
    await cloned(setup)
    await setup.hostAway()
    const refused = await setup.client.run('clone', '--quiet', setup.url, 'again')
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('git host cannot be reached')
    expect(refused.err).toContain('502')
    expect(await setup.client.run('clone', '--quiet', stale.url, 'stale')).toMatchObject({ code: 0 })
    await stale.close()
  })

  test('does not report success when the host goes down between greeting and push', async () => {
    const setup = await setUp('external', anything)
    const clone = await cloned(setup)
    await clone.run('checkout', '--quiet', 'work')
    await committed(clone, 'x', 'x\n')
    const stale = await serveGatewayOverHttp(setup.served, anything, { staleOk: true })
    await setup.hostAway()
    const pushed = await clone.run('push', stale.url, 'HEAD:work')
    expect(pushed.code).toBe(1)
    expect(pushed.err).toContain('git host')
    await stale.close()
  })

  test('fifty concurrent clones cost the host a few requests', async () => {
    const setup = await setUp('external')
    await cloned(setup)
    const before = setup.asked.length
    const headers = { 'Git-Protocol': 'version=2' }
    const greetings = await Promise.all(
      Array.from({ length: 50 }, () => fetch(`${setup.url}/info/refs?service=git-upload-pack`, { headers })),
    )
    expect(greetings.every(({ status }) => status === 200)).toBe(true)
    // Connections arrive in a few batches; each batch shares one question.
    expect(setup.asked.length - before).toBeLessThanOrEqual(10)
  })
})

describe('invalid requests', () => {
  const ask = (
    repo: Repository,
    path: 'info/refs' | 'git-upload-pack' | 'git-receive-pack',
    init: { method?: string; query?: string; headers?: Record<string, string>; body?: string | Uint8Array } = {},
  ) =>
    serveGateway(
      repo,
      {
        method: init.method ?? 'POST',
        path,
        query: new URLSearchParams(init.query ?? ''),
        headers: new Headers(init.headers),
        body: init.body === undefined ? null : (new Response(init.body as string).body as ReadableStream<Uint8Array>),
        signal: new AbortController().signal,
      },
      anything,
    )
  const type = (service: string) => ({ 'content-type': `application/x-${service}-request` })

  test('answers an invalid request with a status and a sentence', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const cases: [Promise<Response>, number][] = [
      [ask(repo, 'info/refs', { method: 'GET' }), 403],
      [ask(repo, 'info/refs', { method: 'GET', query: 'service=git-evil' }), 403],
      [ask(repo, 'info/refs', { method: 'POST', query: 'service=git-upload-pack' }), 405],
      [ask(repo, 'git-upload-pack', { method: 'GET' }), 405],
      [ask(repo, 'git-upload-pack'), 415],
      [ask(repo, 'git-receive-pack', { headers: type('git-upload-pack') }), 415],
      [ask(repo, 'git-receive-pack', { headers: type('git-receive-pack'), body: 'zzzz' }), 400],
      [
        ask(repo, 'git-receive-pack', {
          headers: { ...type('git-receive-pack'), 'content-encoding': 'br' },
          body: '0000',
        }),
        400,
      ],
      [
        ask(repo, 'git-receive-pack', {
          headers: { ...type('git-receive-pack'), 'content-encoding': 'gzip' },
          body: 'not gzip',
        }),
        400,
      ],
    ]
    for (const [response, status] of cases) {
      const got = await response
      expect(got.status).toBe(status)
      expect((await got.text()).trim()).toMatch(/\.$/)
    }
    const probe = await ask(repo, 'git-receive-pack', { headers: type('git-receive-pack'), body: '0000' })
    expect([probe.status, await probe.text()]).toEqual([200, ''])
    await repo.remove()
  })

  test('ends git when its client disconnects', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(3_000_000)))
    await commit(repo, 'main', { big: noise })
    const leaving = new AbortController()
    const want = `0032want ${await repo.tip('main')}\n00000009done\n`
    const response = await serveGateway(
      repo,
      {
        method: 'POST',
        path: 'git-upload-pack',
        query: new URLSearchParams(),
        headers: new Headers(type('git-upload-pack')),
        body: new Response(want).body,
        signal: leaving.signal,
      },
      anything,
    )
    const reader = response.body?.getReader()
    await reader?.read()
    const running = () =>
      Bun.spawnSync(['pgrep', '-f', `upload-pack --stateless-rpc ${repo.dir}`])
        .stdout.toString()
        .trim()
    expect(running()).not.toBe('')
    leaving.abort()
    const deadline = Date.now() + 30_000
    while (running() !== '' && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(running()).toBe('')
    await repo.remove()
  })
})
