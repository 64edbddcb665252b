import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { errorStatus, ServiceError } from '@svc/contract'
import { type Door, writeResponse } from './http/door.ts'
import { StartupError } from './startup-error.ts'

const headersMs = 15_000
const keepAliveMs = 65_000
const drainMs = 8_000

type Fetch = (request: Request, env: object) => Response | Promise<Response>

/** One listener whose answers can be set after it is bound: the port is taken first, so that a second server fails before it touches any data. */
export class Listener {
  readonly server: Server
  #listener: RequestListener = notReady
  readonly #fromSandbox: boolean

  constructor(options: { fromSandbox: boolean }) {
    this.#fromSandbox = options.fromSandbox
    this.server = createServer((request, response) => this.#listener(request, response))
    this.server.headersTimeout = headersMs
    this.server.keepAliveTimeout = keepAliveMs
    // Large pushes and event streams take as long as they take; slow headers are what the limit above is for.
    this.server.requestTimeout = 0
  }

  /** `doors` come first, in their order. */
  answerWith(fetch: Fetch, doors: Door[] = []): void {
    const listener = getRequestListener((request, env) => fetch(request, env), { overrideGlobalObjects: false })
    const fromSandbox = this.#fromSandbox
    this.#listener = (request: IncomingMessage & { svcFromSandbox?: boolean }, response: ServerResponse) => {
      request.svcFromSandbox = fromSandbox
      const door = doors.find((each) => each.takes(request, false))
      if (door === undefined) void listener(request, response)
      else void door.request(request, response).catch(() => failed(response))
    }
    this.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      const door = doors.find((each) => each.takes(request, true))
      if (door === undefined) void refuseUpgrade(socket)
      else void door.upgrade(request, socket, head).catch(() => socket.destroy())
    })
  }

  async onPort(host: string, port: number): Promise<number> {
    await this.#listen(() => this.server.listen({ host, port }), `${host}:${port}`)
    const address = this.server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  /** The socket is for this user alone: a sandbox reaches it only where the driver binds it. */
  async onSocket(path: string): Promise<void> {
    await rm(path, { force: true })
    await this.#listen(() => this.server.listen(path), path)
    await chmod(path, 0o600)
  }

  /** No new connections; what runs may end; what does not end in time is cut. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
    const cut = setTimeout(() => this.server.closeAllConnections(), drainMs)
    await closed
    clearTimeout(cut)
  }

  #listen(start: () => void, where: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, where)))
      this.server.once('listening', () => resolve())
      start()
    })
  }
}

/** What a door throws is our mistake, and it has logged what it knows. */
function failed(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else errorOf(response, new ServiceError('internal', 'Something went wrong on our side.'))
}

function errorOf(response: ServerResponse, error: ServiceError): void {
  response.writeHead(errorStatus(error.code), { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(error.toBody()))
}

/** Nothing else here speaks another protocol than HTTP. */
async function refuseUpgrade(socket: Duplex): Promise<void> {
  const error = new ServiceError('invalid', 'This address does not upgrade.', {
    hint: 'Send the request without Upgrade.',
  })
  await writeResponse(socket, Response.json(error.toBody(), { status: errorStatus(error.code) }))
}

function notReady(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' })
  response.end(
    JSON.stringify({ error: 'The server is starting.', code: 'unavailable', hint: 'Try again in a moment.' }),
  )
}

function explain(error: NodeJS.ErrnoException, where: string): Error {
  if (error.code === 'EADDRINUSE')
    return new StartupError(
      `${where} is taken by another program, perhaps a svc that runs already. Stop it, or choose another port: SVC_PORT=8421 npm start`,
    )
  if (error.code === 'EACCES')
    return new StartupError(`This user may not listen on ${where}. Choose a port above 1024 with SVC_PORT.`)
  if (
    error.code === 'EADDRNOTAVAIL' ||
    error.code === 'ENOTFOUND' ||
    error.code === 'EAI_AGAIN' ||
    error.code === 'EINVAL'
  )
    return new StartupError(`This machine has no address ${where}. Check SVC_HOST.`)
  return error
}
