import { afterEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, gitLine } from '../process/git.ts'
import { serveGateway } from './gateway.ts'
import type { ServeOptions } from './smart-http.ts'
import { makeRepo, serveGatewayOverHttp, type TestRepository } from '../testing.ts'
import { clientAt, makeClient, type GitClient } from './testing-client.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function cloned(options: ServeOptions = {}): Promise<{ repo: TestRepository; clone: GitClient }> {
  const repo = await makeRepo({ main: { 'a.txt': '1\n' } })
  closing.push(repo.remove)
  const server = await serveGatewayOverHttp(repo, () => null, options)
  closing.push(server.close)
  const client = await makeClient()
  closing.push(client.remove)
  expect(await client.run('clone', '--quiet', server.url, 'clone')).toMatchObject({ code: 0 })
  return { repo, clone: clientAt(join(client.cwd, 'clone')) }
}

test('pushes all tags of an old project at once', async () => {
  const { repo, clone } = await cloned()
  const head = await repo.tip('main')
  const tags = Array.from({ length: 800 }, (_, index) => `${head} refs/tags/v${10_000 + index}\n`).join('')
  await writeFile(join(clone.cwd, '.git/packed-refs'), tags)
  expect(await clone.run('push', '--quiet', '--tags', 'origin')).toMatchObject({ code: 0 })
  const arrived = await git(repo.dir, ['for-each-ref', '--format=%(refname)', 'refs/tags'])
  expect(arrived.stdout.toString().trim().split('\n')).toHaveLength(800)
}, 120_000)

test('writes a commit graph after a push of many commits', async () => {
  const { repo, clone } = await cloned()
  const push = async (branch: string) => {
    const commits = Array.from({ length: 600 }, (_, n) => {
      const from = n === 0 ? 'from refs/heads/main^0\n' : ''
      return `commit refs/heads/${branch}\ncommitter x <x@x> ${1_700_000_000 + n} +0000\ndata ${branch.length}\n${branch}\n${from}\n`
    })
    const input = commits.join('')
    await git(join(clone.cwd, '.git'), ['fast-import', '--quiet', '--force', '--date-format=raw'], { input })
    expect(await clone.run('push', '--quiet', 'origin', branch)).toMatchObject({ code: 0 })
    expect(await repo.tip(branch)).toHaveLength(40)
  }
  const chain = join(repo.dir, 'objects/info/commit-graphs/commit-graph-chain')
  // The pushed commits have landed even when the commit graph cannot be written.
  await mkdir(`${chain}.lock`, { recursive: true })
  await push('first')
  expect(existsSync(chain)).toBe(false)
  await rmdir(`${chain}.lock`)
  await push('second')
  expect(existsSync(chain)).toBe(true)
  await git(repo.dir, ['commit-graph', 'verify'])
})

test('one refused ref does not stop the others, unless the push is atomic', async () => {
  const { repo, clone } = await cloned()
  // No git that died left a folder there; it is not ours to remove.
  await mkdir(join(repo.dir, 'refs/heads/held.lock'))
  const names = ['HEAD:refs/heads/free', 'HEAD:refs/heads/held']
  const atomic = await clone.run('push', '--porcelain', '--atomic', 'origin', ...names)
  expect(atomic.code).toBe(1)
  expect(atomic.out).toMatch(/refs\/heads\/free\t\[remote rejected\] \(atomic transaction failed: /)
  expect(atomic.out).toMatch(/refs\/heads\/held\t\[remote rejected\] \(atomic transaction failed: /)
  const single = await clone.run('push', '--porcelain', 'origin', ...names)
  expect(single.out).toMatch(/refs\/heads\/free\t\[new branch\]/)
  expect(single.out).toMatch(/refs\/heads\/held\t\[remote rejected\] \((?!atomic)/)
  expect(await repo.tip('free')).toBe(await repo.tip('main'))
})

test('pushes refs other than branches and tags when the host allows it, but never refs of the service', async () => {
  const { repo, clone } = await cloned({ allowAnyRef: true })
  expect(await clone.run('push', 'origin', 'HEAD:refs/notes/commits')).toMatchObject({ code: 0 })
  expect(await gitLine(repo.dir, ['rev-parse', 'refs/notes/commits'])).toBe(await repo.tip('main'))
  const hidden = await clone.run('push', 'origin', 'HEAD:refs/svc/cr/1/base')
  expect(hidden.err).toContain('belongs to the service')
})

test('writes the name of the pusher into the reflog', async () => {
  const { repo, clone } = await cloned({ pusher: { name: 'Ada', email: 'ada@svc.invalid' } })
  await git(repo.dir, ['config', 'core.logAllRefUpdates', 'true'])
  expect(await clone.run('push', 'origin', 'HEAD:refs/heads/new')).toMatchObject({ code: 0 })
  expect(await gitLine(repo.dir, ['log', '-g', '-1', '--format=%gn <%ge>', 'refs/heads/new'])).toBe(
    'Ada <ada@svc.invalid>',
  )
})

test('forbids caches to reuse a reply', async () => {
  const repo = await makeRepo({ main: { 'a.txt': '1\n' } })
  closing.push(repo.remove)
  const server = await serveGatewayOverHttp(repo, () => null)
  closing.push(server.close)
  const { headers } = await fetch(`${server.url}/info/refs?service=git-upload-pack`)
  expect(headers.get('pragma')).toBe('no-cache')
  expect(headers.get('cache-control')).toContain('no-cache')
})

test('a pusher may leave before the push has landed', async () => {
  const repo = await makeRepo({ main: { 'a.txt': '1\n' }, old: { 'b.txt': '1\n' } })
  closing.push(repo.remove)
  const left = Promise.withResolvers<null>()
  const acknowledged = Promise.withResolvers<void>()
  const command = `${await repo.tip('old')} ${'0'.repeat(40)} refs/heads/old\0report-status side-band-64k`
  const response = await serveGateway(
    repo,
    {
      method: 'POST',
      path: 'git-receive-pack',
      query: new URLSearchParams(),
      headers: new Headers({ 'content-type': 'application/x-git-receive-pack-request' }),
      body: new Response(`${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`).body,
      signal: new AbortController().signal,
    },
    () => null,
    { allowDelete: true, acknowledge: () => left.promise.finally(acknowledged.resolve) },
  )
  await response.body?.cancel()
  left.resolve(null)
  await acknowledged.promise
  // A rejection that nothing handles fails the test after the microtasks of the landing.
  await new Promise((resolve) => setImmediate(resolve))
  expect(await repo.tip('old').catch(() => null)).toBe(null)
})
