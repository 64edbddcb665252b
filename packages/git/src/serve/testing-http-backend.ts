import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setPriority } from 'node:os'
import { basename, dirname } from 'node:path'
import { basicAuth } from '../process/environment.ts'
import { listenOnLoopback } from '../hosts/testing-port.ts'

export type HttpBackend = Awaited<ReturnType<typeof serveHttpBackend>>

export interface HttpBackendOptions {
  auth?: { username: string; password: string }
  /** Refuses pushes, like a host for a read-only user. */
  readOnly?: boolean
  /** 0 or 1 imitates an old host without protocol v2. */
  protocol?: 0 | 1 | 2
  /** Runs at a low priority, like a host on another machine. */
  givesWay?: boolean
  /** More variables for git and its helpers. */
  env?: Record<string, string>
  /** Called before each reply; a number answers with that status, a string redirects there. */
  before?: (request: IncomingMessage) => number | string | void | Promise<number | string | void>
}

/** A plain git host: `git http-backend` behind a small HTTP server, with the repository's hooks and pushes allowed. */
export async function serveHttpBackend(dir: string, options: HttpBackendOptions = {}) {
  /** `METHOD /path?query` of every request. */
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    void answer(dir, options, request, response).catch((error: Error) => {
      response.statusCode = 500
      response.end(error.message)
    })
  })
  // Even on a slow machine the host does not end connections.
  server.keepAliveTimeout = 600_000
  const { port, close } = await listenOnLoopback(server)
  return { url: `http://127.0.0.1:${port}/${basename(dir)}`, requests, close }
}

async function answer(
  dir: string,
  options: HttpBackendOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const verdict = await options.before?.(request)
  if (typeof verdict === 'number') return void response.writeHead(verdict).end('no\n')
  if (typeof verdict === 'string') return void response.writeHead(302, { location: verdict }).end()
  if (options.auth && request.headers.authorization !== basicAuth(options.auth)) {
    return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('no\n')
  }
  runBackend(dir, options, request, response)
}

function runBackend(
  dir: string,
  options: HttpBackendOptions,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? '/', 'http://host')
  const config: Record<string, string> = { 'http.receivepack': String(!options.readOnly), 'safe.directory': '*' }
  const env: Record<string, string> = {
    ...options.env,
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_PROJECT_ROOT: dirname(dir),
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_COUNT: String(Object.keys(config).length),
    REQUEST_METHOD: request.method ?? 'GET',
    PATH_INFO: url.pathname,
    QUERY_STRING: url.search.slice(1),
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
  }
  Object.entries(config).forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  })
  const protocol = String(request.headers['git-protocol'] ?? '')
  if (protocol && (options.protocol ?? 2) === 2) env.GIT_PROTOCOL = protocol
  // A chunked body has no length; CGI then reads to the end of its input.
  if (request.headers['content-length']) env.CONTENT_LENGTH = request.headers['content-length']

  const child = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  if (options.givesWay && child.pid !== undefined) setPriority(child.pid, lowestPriority)
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  response.on('close', () => child.kill())
  relayCgi(child.stdout, response)
}

const lowestPriority = 19

/** CGI answers with headers, an empty line, and the body. */
function relayCgi(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head: Buffer | null = Buffer.alloc(0)
  output.on('data', (chunk: Buffer) => {
    if (head === null) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':')
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()]
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    const rest = head.subarray(end + 4)
    head = null
    if (rest.length > 0) response.write(rest)
  })
  output.on('end', () => response.end())
}
