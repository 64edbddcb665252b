/** The handling of a request by git's `t/lib-httpd/apache.conf`: redirects, access, and which script or repository responds. */
import { appendFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { serveRepository } from './git-host.ts'
import { userOf } from './passwords.ts'
import { runScript } from './scripts.ts'

/** `[R=…]` redirects; without a status it rewrites in place, as `[PT]` does. */
const rewrites: { from: RegExp; to: string; status?: 301 | 302 }[] = [
  { from: /^\/smart-redir-perm\/(.*)$/, to: '/smart/$1', status: 301 },
  { from: /^\/smart-redir-temp\/(.*)$/, to: '/smart/$1', status: 302 },
  { from: /^\/smart-redir-auth\/(.*)$/, to: '/auth/smart/$1', status: 301 },
  { from: /^\/smart-redir-limited\/(.*)\/info\/refs$/, to: '/smart/$1/info/refs', status: 301 },
  { from: /^\/insane-redir\/(.*)$/, to: '/intern-redir/$1/foo', status: 301 },
  { from: /^\/intern-redir\/(.*)\/foo$/, to: '/smart/$1' },
]

/** `<Location>` with `Require valid-user`. */
const locked = [/^\/auth\//, /^\/auth-push\/.*\/git-receive-pack$/, /^\/auth-fetch\/.*\/git-upload-pack$/]

/** `ScriptAlias`: the rest of the path is the script's PATH_INFO. */
const scripts: { at: RegExp; file: string }[] = [
  { at: /^\/smart\/incomplete_length\/git-upload-pack/, file: 'incomplete-length-upload-pack-v2-http.sh' },
  { at: /^\/smart\/incomplete_body\/git-upload-pack/, file: 'incomplete-body-upload-pack-v2-http.sh' },
  { at: /^\/smart\/no_report\/git-receive-pack/, file: 'error-no-report.sh' },
  { at: /^\/broken_smart\//, file: 'broken-smart-http.sh' },
  { at: /^\/error_smart\//, file: 'error-smart-http.sh' },
  { at: /^\/error\//, file: 'error.sh' },
]

/** Where Apache would start git-http-backend. The tests request the paths below it. */
const repositories = /\/smart_*[^/]*\/(.*)/

export async function answerAsApache(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = `${request.method} ${request.url} HTTP/${request.httpVersion}`
  const name = userOf(root, request)
  try {
    const answer = await route(root, request, response, name)
    await send(answer, response, (bytes) => log(root, asked, name, answer.status, bytes))
  } catch (error) {
    console.error(asked, error)
    response.destroy()
  }
}

async function route(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
  user: string | null,
): Promise<Response> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
  const rewrite = rewrites.find(({ from }) => from.test(url.pathname))
  const path = rewrite ? url.pathname.replace(rewrite.from, rewrite.to) : url.pathname
  if (rewrite?.status)
    return new Response(null, { status: rewrite.status, headers: { location: `${url.origin}${path}${url.search}` } })
  if (user === null && needsUser(path, url.searchParams))
    return new Response('Unauthorized\n', { status: 401, headers: { 'www-authenticate': 'Basic realm="git-auth"' } })
  const script = scripts.find(({ at }) => at.test(path))
  if (script) return runScript(join(root, script.file), path.replace(script.at, '/'))
  const [, rest] = repositories.exec(path) ?? []
  if (rest === undefined) return new Response('Not Found\n', { status: 404 })
  const { headers } = request
  if (path.includes('/smart_headers/') && !(headers['x-magic-one'] === 'abra' && headers['x-magic-two'] === 'cadabra'))
    return new Response('Forbidden\n', { status: 403 })
  return serveRepository({ root, place: path, path: rest, query: url.searchParams, request, response, user })
}

function needsUser(path: string, query: URLSearchParams): boolean {
  if (locked.some((one) => one.test(path))) return true
  const pushes = query.get('service') === 'git-receive-pack' || path.endsWith('/git-receive-pack')
  return path.startsWith('/half-auth-complete/') && pushes
}

/** A web Response sorts its headers. One test compares them with Apache's, whose order has no meaning. */
const headersFirst = ['expires', 'pragma', 'cache-control']

async function send(answer: Response, response: ServerResponse, done: (bytes: number) => void): Promise<void> {
  const rank = (name: string) => (headersFirst.indexOf(name) + 1 || headersFirst.length + 1) as number
  const headers = [...answer.headers].sort(([a], [b]) => rank(a) - rank(b))
  // Without this header node adds a keep-alive timeout, which Apache does not send.
  response.writeHead(answer.status, [...headers, ['connection', 'keep-alive']].flat())
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length
      next(null, chunk)
    },
    // Written before the response ends: the tests read the log as soon as git has exited.
    flush(next) {
      done(bytes)
      next()
    },
  })
  await pipeline(answer.body ? Readable.fromWeb(answer.body as never) : Readable.from([]), count, response)
}

/** `LogFormat "%h %l %u %t \"%r\" %>s %b" common` */
function log(root: string, asked: string, user: string | null, status: number, bytes: number): void {
  const line = `127.0.0.1 - ${user ?? '-'} [${new Date().toISOString()}] "${asked}" ${status} ${bytes || '-'}\n`
  appendFileSync(join(root, 'access.log'), line)
}
