import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { createBranch } from './branch.ts'
import { openMirror } from '../mirror/mirror.ts'
import { type Remote, type Repository, withheldText } from '../repository.ts'
import { makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { gitHubRepository } from './github-api.ts'
import { makeGitHubApp } from './github-app.ts'
import { serveGitHub, type GitHubStandIn } from './testing-github.ts'

let origin: TestRepository
let temp: Awaited<ReturnType<typeof tempDir>>
let host: GitHubStandIn
let sha: string
beforeAll(async () => {
  origin = await makeRepo({ main: { a: '1\n' }, other: { b: '2\n' } })
  temp = await tempDir()
  sha = await origin.tip('main')
})
afterAll(async () => {
  await origin.remove()
  await temp.remove()
})
beforeEach(async () => {
  host = await serveGitHub(origin.dir)
  host.tokens.set('canary-both', 'both')
  host.tokens.set('canary-git', 'git')
  host.tokens.set('canary-api', 'api')
})
afterEach(() => host.close())

let count = 0
async function mirror(token: string | null, more: Partial<Remote> = {}): Promise<Repository> {
  return openMirror(join(temp.path, `mirror-${++count}.git`), {
    url: host.repoUrl,
    credential: token === null ? null : { username: 'x-access-token', password: token },
    allowProtocols: ['http'],
    github: { apiUrl: host.apiUrl },
    ...more,
  })
}
const fresh = () => `session-${++count}`
const tipOf = (branch: string) => origin.tip(branch).catch(() => null)
/** Answers every request of the API in this way. */
const always = (status: number, body: string | object, headers: Record<string, string> = {}) => {
  host.override = (_request: IncomingMessage, response: ServerResponse) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    return true
  }
}

describe('creating a branch through the API', () => {
  test('creates the branch on the host without a fetch or a push', async () => {
    const branch = fresh()
    expect(await createBranch(await mirror('canary-both'), { branch, sha })).toEqual({ kind: 'created' })
    expect(await tipOf(branch)).toBe(sha)
    expect(host.apiRequests).toEqual(['POST /repos/acme/repo/git/refs'])
    expect(host.gitRequests).toEqual([])
  })

  test('does not move an existing branch, wherever it points', async () => {
    const branch = fresh()
    const repo = await mirror('canary-both')
    expect(await createBranch(repo, { branch, sha: await origin.tip('other') })).toEqual({ kind: 'created' })
    expect(await createBranch(repo, { branch, sha })).toEqual({ kind: 'exists' })
    expect(await tipOf(branch)).toBe(await origin.tip('other'))
  })

  test.each(['a/b/c', '-dash', '+main', 'x$(id)', 'ünï', '100%', 'a#b', 'a&b=c'])(
    'creates a branch with the odd name %s',
    async (name) => {
      const branch = `odd-${++count}/${name}`
      const repo = await mirror('canary-both')
      expect(await createBranch(repo, { branch, sha })).toEqual({ kind: 'created' })
      expect(await createBranch(repo, { branch, sha })).toEqual({ kind: 'exists' })
      expect(await tipOf(branch)).toBe(sha)
    },
  )

  test("reports the host's reason for a refused branch and tries nothing else", async () => {
    const gone = 'f'.repeat(40)
    expect(await createBranch(await mirror('canary-both'), { branch: fresh(), sha: gone })).toEqual({
      kind: 'rejected',
      reason: 'Object does not exist (HTTP status 422)',
    })
    host.override = (request, response) => {
      if (request.method !== 'POST') return false
      response.writeHead(422, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ message: 'Repository rule violations found', errors: [{ message: 'Names begin with x/' }] }),
      )
      return true
    }
    const branch = fresh()
    expect(await createBranch(await mirror('canary-both'), { branch, sha })).toMatchObject({
      kind: 'rejected',
      reason: 'Repository rule violations found Names begin with x/ (HTTP status 422)',
    })
    expect([await tipOf(branch), host.gitRequests]).toEqual([null, []])
  })

  test('creates a branch once when ten callers ask at the same time', async () => {
    const branch = fresh()
    const repo = await mirror('canary-both')
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => createBranch(repo, { branch, sha })))
    expect(outcomes.map((one): string => one.kind).toSorted()).toEqual(['created', ...Array<string>(9).fill('exists')])
  })
})

describe('pushing when the API gives no decision', () => {
  test('pushes when the token may push but may not use this part of the API', async () => {
    const branch = fresh()
    expect(await createBranch(await mirror('canary-git'), { branch, sha })).toEqual({
      kind: 'created',
      apiRemark: 'Resource not accessible by personal access token (HTTP status 403)',
    })
    expect(await tipOf(branch)).toBe(sha)
  })

  test.each([
    [401, { message: 'Bad credentials' }, /^Bad credentials \(HTTP status 401\)$/],
    [403, { message: 'Resource protected by organization SAML enforcement.' }, /SAML/],
    [404, { message: 'Not Found' }, /^Not Found \(HTTP status 404\)$/],
    [410, 'no json', /^it gave no reason \(HTTP status 410\)$/],
    [500, { message: 'Server Error' }, /^Server Error/],
    [502, '<html>proxy</html>', /HTTP status 502/],
    [200, {}, /HTTP status 200/],
    [301, { message: 'Moved Permanently' }, /^Moved Permanently/],
    [403, { message: ['x'], errors: [{ message: { a: 1 } }, null, 7, 'said'] }, /^said \(HTTP status 403\)$/],
    [403, '{"message": "cut', /HTTP status 403/],
    [403, 'null', /HTTP status 403/],
  ])('pushes after the API answers %d %j', async (status, body, remark) => {
    always(status as number, body as string | object, status === 301 ? { location: `${host.apiUrl}/elsewhere` } : {})
    const branch = fresh()
    const outcome = await createBranch(await mirror('canary-both'), { branch, sha })
    expect(outcome).toMatchObject({ kind: 'created', apiRemark: expect.stringMatching(remark as RegExp) })
    expect(await tipOf(branch)).toBe(sha)
    expect(host.apiRequests).toHaveLength(1)
  })

  test('pushes when the API does not answer, within the time limit', async () => {
    host.override = () => true
    const branch = fresh()
    const repo = await mirror('canary-both')
    const outcome = await createBranch(repo, { branch, sha }, { timeoutMs: 20_000 })
    expect(outcome).toEqual({ kind: 'created', apiRemark: 'the API did not answer in time' })
  }, 120_000)

  test('pushes after a huge reply', async () => {
    always(403, `{"message": "${'x'.repeat(3 * 1024 * 1024)}"}`)
    const outcome = await createBranch(await mirror('canary-both'), { branch: fresh(), sha })
    expect(outcome).toEqual({ kind: 'created', apiRemark: 'the API returned more than 1048576 bytes' })
  })

  test('finds the branch when the connection breaks after the API created it', async () => {
    const branch = fresh()
    host.override = (_request, response) => {
      void createBranch({ dir: origin.dir, remote: null }, { branch, sha }).then(() => response.destroy())
      return true
    }
    const outcome = await createBranch(await mirror('canary-both'), { branch, sha })
    expect(outcome).toEqual({ kind: 'exists', apiRemark: expect.any(String) })
    expect(await tipOf(branch)).toBe(sha)
  })

  test('pushes without a credential, and for a URL that is not owner/name', async () => {
    host.tokens.set('', 'git')
    const branch = fresh()
    expect(await createBranch(await mirror(null), { branch, sha })).toMatchObject({
      apiRemark: 'the API needs a credential',
    })
    expect(await tipOf(branch)).toBe(sha)
    expect(host.apiRequests).toEqual([])
  })

  test('reports both reasons when the API and the push fail', async () => {
    always(403, { message: 'Resource not accessible by integration' })
    expect(await createBranch(await mirror('canary-api'), { branch: fresh(), sha })).toMatchObject({
      reason: expect.stringMatching(
        /refuses this credential.* Its API did not create the branch: Resource not accessible by integration/,
      ),
    })
  })
})

describe('a host that rate-limits the API', () => {
  test.each([
    [429, { 'retry-after': '120' }],
    [403, { 'retry-after': '60' }],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 300) }],
    [429, {}],
  ])('asks a host once that answers %d with %j, and pushes meanwhile', async (status, headers) => {
    const token = `canary-limited-${++count}`
    host.tokens.set(token, 'both')
    always(status, { message: 'API rate limit exceeded' }, headers as Record<string, string>)
    const repo = await mirror(token)
    expect(await createBranch(repo, { branch: fresh(), sha })).toMatchObject({
      kind: 'created',
      apiRemark: `API rate limit exceeded (HTTP status ${status})`,
    })
    const next = await createBranch(repo, { branch: fresh(), sha })
    expect(next).toEqual({ kind: 'created', apiRemark: 'the API asked for a pause' })
    expect(host.apiRequests).toHaveLength(1)
    // Another credential has a limit of its own.
    host.override = null
    expect(await createBranch(await mirror('canary-both'), { branch: fresh(), sha })).toEqual({ kind: 'created' })
  })
})

test('follows no redirect, and no error contains the credential', async () => {
  const canary = await serveGitHub(origin.dir)
  always(
    307,
    { message: 'see canary-both \u001b[31m\u202e there' },
    { location: `${canary.apiUrl}/repos/acme/repo/git/refs` },
  )
  const outcome = await createBranch(await mirror('canary-both'), { branch: fresh(), sha })
  expect(canary.apiRequests).toEqual([])
  expect(outcome).toEqual({ kind: 'created', apiRemark: `${withheldText} (HTTP status 307)` })
  await canary.close()
})

test('an aborted caller gets no outcome', async () => {
  const leave = new AbortController()
  host.override = () => {
    leave.abort(new Error('left'))
    return true
  }
  const asked = createBranch(await mirror('canary-both'), { branch: fresh(), sha }, { signal: leave.signal })
  await expect(asked).rejects.toThrow('left')
})

describe('the GitHub App of the server', () => {
  const repository = { owner: 'acme', name: 'repo' }
  const app = (more: Partial<Parameters<typeof makeGitHubApp>[0]> = {}) =>
    makeGitHubApp({ appId: host.app.id, privateKey: host.app.privateKey, apiUrl: host.apiUrl, ...more })

  test('gets a token for one repository, which works for git and the API', async () => {
    const got = await app().tokenFor(repository)
    if (got.kind !== 'token') throw new Error(JSON.stringify(got))
    const [byApi, byPush] = [fresh(), fresh()]
    const repo = await mirror(got.token)
    expect(await createBranch(repo, { branch: byApi, sha })).toEqual({ kind: 'created' })
    always(404, { message: 'Not Found' })
    expect(await createBranch(repo, { branch: byPush, sha })).toMatchObject({ kind: 'created' })
    expect([await tipOf(byApi), await tipOf(byPush)]).toEqual([sha, sha])
  })

  test('caches the token until ten minutes before it expires, and concurrent callers share one request', async () => {
    let now = Date.now()
    const one = app({ now: () => now })
    const many = await Promise.all(Array.from({ length: 20 }, () => one.tokenFor(repository)))
    expect(new Set(many.map((got) => JSON.stringify(got))).size).toBe(1)
    now += 49 * 60_000
    await one.tokenFor({ owner: 'ACME', name: 'Repo' })
    expect(host.app.minted).toHaveLength(1)
    now += 2 * 60_000
    expect(await one.tokenFor(repository)).toEqual({ kind: 'token', token: host.app.minted[1] as string })
    expect(host.app.minted).toHaveLength(2)
  })

  test('says when the App is not installed, and notices when it is', async () => {
    host.app.installed = false
    const one = app()
    expect(await one.tokenFor(repository)).toEqual({
      kind: 'not-installed',
      reason: 'The GitHub App of this server is not installed on acme/repo.',
    })
    host.app.installed = true
    expect((await one.tokenFor(repository)).kind).toBe('token')
  })

  test('gets no token with a wrong key, or from a host that is down or answers wrongly', async () => {
    const other = await serveGitHub(origin.dir)
    expect(await app({ privateKey: other.app.privateKey }).tokenFor(repository)).toEqual({
      kind: 'unreachable',
      reason: expect.stringContaining('A JSON web token could not be decoded'),
    })
    await other.close()
    expect((await app({ apiUrl: other.apiUrl }).tokenFor(repository)).kind).toBe('unreachable')
    for (const lie of [{ id: 'x' }, null, [], { id: 1.5 }, 'x']) {
      always(200, JSON.stringify(lie))
      expect((await app().tokenFor(repository)).kind).toBe('unreachable')
    }
    for (const lie of [
      { token: 'a\nb', expires_at: new Date().toISOString() },
      { token: 7 },
      { token: 'x', expires_at: 'soon' },
    ]) {
      host.override = (request, response) => {
        const isToken = request.method === 'POST'
        response.writeHead(isToken ? 201 : 200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(isToken ? lie : { id: 5 }))
        return true
      }
      expect((await app().tokenFor(repository)).kind).toBe('unreachable')
    }
  })
})

test.each([
  ['https://github.com/a/b', 'a', 'b'],
  ['https://github.com/a/b.git', 'a', 'b'],
  ['https://ghe.example:8443/a-b/c.d_e.git', 'a-b', 'c.d_e'],
])('finds owner and repository in %s', (url, owner, name) => {
  expect(gitHubRepository(url)).toEqual({ owner, name })
})
test.each([
  'https://github.com/a',
  'https://github.com/a/b/c',
  'ssh://git@github.com/a/b',
  'https://h/a%2fb/c',
  'file:///a/b',
])('finds no owner and repository in %s', (url) => {
  expect(gitHubRepository(url)).toBeNull()
})
