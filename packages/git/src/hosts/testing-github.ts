import { createVerify, generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { git } from '../process/git.ts'
import { readTips } from '../refs/tips.ts'
import { listenOnLoopback } from './testing-port.ts'
import { serveHttpBackend } from '../serve/testing-http-backend.ts'

/** A GitHub-style host on loopback: its API over a real bare repository, and the repository over plain git. */
export interface GitHubStandIn {
  /** `127.0.0.1:port` */
  host: string
  apiUrl: string
  repoUrl: string
  /** `METHOD /path` of each API request. */
  apiRequests: string[]
  gitRequests: string[]
  /** Answers instead of the API; null lets the API answer. */
  override: ((request: IncomingMessage, response: ServerResponse) => boolean | void) | null
  /** Tokens that git and the API accept. `api` or `git` alone: a token limited by its scope or a rule. */
  tokens: Map<string, 'both' | 'git' | 'api'>
  app: { id: string; privateKey: string; installed: boolean; tokenMs: number; minted: string[] }
  /** The rule types of each branch. */
  rules: Map<string, string[]>
  pulls: StandInPull[]
  close(): Promise<void>
}

interface StandInPull {
  number: number
  html_url: string
  title: string
  body: string
  state: 'open' | 'closed'
  base: { ref: string; sha: string }
  head: { ref: string; sha: string }
  merged_at: string | null
  merge_commit_sha: string | null
}

const owner = 'acme'

export async function serveGitHub(dir: string): Promise<GitHubStandIn> {
  const backend = await serveHttpBackend(dir)
  const name = basename(dir).replace(/\.git$/, '')
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  // PKCS#1, the format of GitHub's keys.
  const privateKey = keys.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
  const publicKey = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    if (path.startsWith('/api/v3/')) {
      host.apiRequests.push(`${request.method} ${path.slice('/api/v3'.length)}`)
      if (host.override?.(request, response)) return
      void answerApi({ host, dir, name, publicKey }, request, response).catch((error: Error) => {
        reply(response, 500, { message: error.message })
      })
      return
    }
    host.gitRequests.push(`${request.method} ${path}`)
    relayGit(host, new URL(backend.url).port, request, response)
  })
  const { port, close } = await listenOnLoopback(server)
  const host: GitHubStandIn = {
    host: `127.0.0.1:${port}`,
    apiUrl: `http://127.0.0.1:${port}/api/v3`,
    repoUrl: `http://127.0.0.1:${port}/${owner}/${basename(dir)}`,
    apiRequests: [],
    gitRequests: [],
    override: null,
    tokens: new Map(),
    app: { id: '4711', privateKey, installed: true, tokenMs: 3_600_000, minted: [] },
    rules: new Map(),
    pulls: [],
    async close() {
      await close()
      await backend.close()
    },
  }
  return host
}

function relayGit(host: GitHubStandIn, port: string, request: IncomingMessage, response: ServerResponse): void {
  const [, token = ''] = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':')
  const grant = host.tokens.get(token)
  if (grant !== 'both' && grant !== 'git') {
    const challenge = { 'www-authenticate': 'Basic realm="GitHub"' }
    return void response.writeHead(token === '' || !grant ? 401 : 403, challenge).end('no\n')
  }
  const path = (request.url ?? '').replace(`/${owner}/`, '/')
  const onward = httpRequest(
    { host: '127.0.0.1', port, path, method: request.method, headers: request.headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    },
  )
  onward.on('error', () => response.destroy())
  request.pipe(onward)
}

interface ApiState {
  host: GitHubStandIn
  dir: string
  name: string
  publicKey: string
}

async function answerApi(state: ApiState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { host, name } = state
  const path = (request.url ?? '').slice('/api/v3'.length)
  const token = (request.headers.authorization ?? '').replace(/^(?:token|bearer) /i, '')
  const body = await readJson(request)
  const inRepo = (rest: string) => path === `/repos/${owner}/${name}${rest}`
  if (path.endsWith('/installation') || path.startsWith('/app/')) {
    if (!isAppToken(state, token)) return reply(response, 401, { message: 'A JSON web token could not be decoded' })
    if (!host.app.installed) return reply(response, 404, { message: 'Not Found' })
    if (path.startsWith('/repos/')) {
      return inRepo('/installation') ? reply(response, 200, { id: 99 }) : reply(response, 404, { message: 'Not Found' })
    }
    if (path !== '/app/installations/99/access_tokens') return reply(response, 404, { message: 'Not Found' })
    if (JSON.stringify(body.repositories) !== JSON.stringify([name]))
      return reply(response, 422, { message: 'The token was asked for more than this repository' })
    const minted = `ghs_${randomBytes(18).toString('hex')}`
    host.tokens.set(minted, 'both')
    host.app.minted.push(minted)
    const expires_at = new Date(Date.now() + host.app.tokenMs).toISOString()
    return reply(response, 201, { token: minted, expires_at, permissions: { contents: 'write' } })
  }
  const grant = host.tokens.get(token)
  if (!grant) return reply(response, 401, { message: 'Bad credentials' })
  if (inRepo('/git/refs') && request.method === 'POST') {
    if (grant === 'git') return reply(response, 403, { message: 'Resource not accessible by personal access token' })
    return createRef(state, body, response)
  }
  if (inRepo(/^\/repos\/[^/]+\/[^/]+(\/pulls.*)$/.exec(path)?.[1] ?? '?'))
    return answerPulls(state, request, body, response)
  const ruled = /\/rules\/branches\/(.+)$/.exec(path)?.[1]
  if (ruled !== undefined)
    return reply(
      response,
      200,
      (host.rules.get(decodeURIComponent(ruled)) ?? []).map((type) => ({ type })),
    )
  const ref = /^\/repos\/[^/]+\/[^/]+\/git\/ref\/(.+)$/.exec(path)?.[1]
  if (ref === undefined || !inRepo(`/git/ref/${ref}`)) return reply(response, 404, { message: 'Not Found' })
  const sha = await tipOf(state.dir, decodeURIComponent(ref).replace(/^heads\//, ''))
  if (sha === null) return reply(response, 404, { message: 'Not Found' })
  reply(response, 200, { ref: `refs/${decodeURIComponent(ref)}`, object: { type: 'commit', sha } })
}

async function createRef(state: ApiState, body: Record<string, unknown>, response: ServerResponse): Promise<void> {
  const [ref, sha] = [String(body.ref), String(body.sha)]
  const branch = ref.replace(/^refs\/heads\//, '')
  // 128: the object does not exist.
  const found = await git(state.dir, ['cat-file', '-e', `${sha}^{commit}`], { accept: [0, 1, 128] })
  if (found.code !== 0) return reply(response, 422, { message: 'Object does not exist' })
  if ((await tipOf(state.dir, branch)) !== null) return reply(response, 422, { message: 'Reference already exists' })
  // 128: another branch conflicts.
  const made = await git(state.dir, ['update-ref', ref, sha, '0'.repeat(40)], { accept: [0, 128] })
  if (made.code !== 0) return reply(response, 422, { message: 'Reference update failed' })
  reply(response, 201, { ref, object: { type: 'commit', sha } })
}

async function answerPulls(
  { host, dir }: ApiState,
  request: IncomingMessage,
  body: Record<string, unknown>,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://host')
  const number = /\/pulls\/(\d+)$/.exec(url.pathname)?.[1]
  if (number !== undefined) {
    const found = host.pulls.find((pull) => pull.number === Number(number))
    return found ? reply(response, 200, found) : reply(response, 404, { message: 'Not Found' })
  }
  if (request.method === 'GET') {
    const [base, head] = [url.searchParams.get('base'), url.searchParams.get('head')?.replace(`${owner}:`, '')]
    const found = host.pulls.filter((one) => one.state === 'open' && one.base.ref === base && one.head.ref === head)
    return reply(response, 200, found)
  }
  const [base, head] = [String(body.base), String(body.head)]
  const [baseSha, headSha] = [await tipOf(dir, base), await tipOf(dir, head)]
  if (baseSha === null || headSha === null || baseSha === headSha)
    return reply(response, 422, { message: 'Validation Failed', errors: [{ message: 'No commits between them' }] })
  const pull: StandInPull = {
    number: host.pulls.length + 1,
    html_url: `http://${host.host}/${owner}/repo/pull/${host.pulls.length + 1}`,
    ...{ title: String(body.title), body: String(body.body), state: 'open' },
    ...{
      base: { ref: base, sha: baseSha },
      head: { ref: head, sha: headSha },
      merged_at: null,
      merge_commit_sha: null,
    },
  }
  host.pulls.push(pull)
  reply(response, 201, pull)
}

async function tipOf(dir: string, branch: string): Promise<string | null> {
  const tips = await readTips({ dir, remote: null }, [branch])
  return tips.kind === 'tips' ? (tips.tips.get(branch) ?? null) : null
}

function isAppToken({ host, publicKey }: ApiState, token: string): boolean {
  const [head = '', payload = '', signature = ''] = token.split('.')
  const isSigned = createVerify('RSA-SHA256')
    .update(`${head}.${payload}`)
    .verify(publicKey, Buffer.from(signature, 'base64url'))
  if (!isSigned) return false
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iss: unknown; exp: number }
  return String(claims.iss) === host.app.id && claims.exp * 1000 > Date.now()
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}
