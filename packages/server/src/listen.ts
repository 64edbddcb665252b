import { randomBytes } from 'node:crypto'
import { chmod, mkdir, rename, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Server as NetServer, Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { errorStatus, ServiceError } from '@svc/contract'
import { type NetworkConfig, readNetwork } from './config/network.ts'
import { Settings } from './config/settings.ts'
import { addressOf, clientOf, type ListenedRequest } from './http/connections/client-address.ts'
import { Connections } from './http/connections/connections.ts'
import { type Forwarder, type IngressHandler, writeResponse } from './http/ingress.ts'
import { withDeadline } from './deadline.ts'
import { ProxiedConnections } from './http/connections/proxied-connections.ts'
import { replyWithinCaps } from './http/reply-within-caps.ts'
import { continueWhenRead } from './http/bodies/continue-when-read.ts'
import { lingerUntilRead } from './http/bodies/linger.ts'
import { SlowBodies } from './http/bodies/slow-bodies.ts'
import type { Bindings } from './http/request-info.ts'
import { isGitClient } from './projects/git-gateway.ts'
import { StartupError } from './startup/startup-error.ts'

const keepAliveMs = 65_000
/** The end of the server has ten seconds for everything. */
const drainMs = 5_000
/** Upgraded connections may outlast the cut; they end with the process. */
const cutMs = 500
/** Between two looks for connections that became idle while requests end. */
const idleLookMs = 50

const defaults = readNetwork(new Settings({}))

type Fetch = (request: Request, env: object) => Response | Promise<Response>

/** A listener that is bound before it has handlers: a port in use is found out before the server starts anything. */
export class Listener {
  readonly server: Server
  #listener: RequestListener = notReady
  readonly #fromSandbox: boolean
  readonly #peersOnly: boolean
  readonly #network: NetworkConfig
  readonly #onFailed: (error: unknown) => void
  readonly #connections: Connections
  readonly #bodies: SlowBodies
  #forwarder: Forwarder | null = null
  /** Accepts the connections in place of `server` when a balancer speaks the PROXY protocol. */
  readonly #proxied: ProxiedConnections | null
  #socketPath: string | null = null

  constructor(options: {
    fromSandbox: boolean
    network?: NetworkConfig
    onRefused?: (reason: string) => void
    /** An error that no handler answered. */
    onFailed?: (error: unknown) => void
    /** Answers other servers and nobody else. */
    peersOnly?: boolean
    /** Encrypts its connections. PEM. */
    tls?: { cert: string; key: string } | null
  }) {
    this.#fromSandbox = options.fromSandbox
    this.#peersOnly = options.peersOnly === true
    const tls = options.tls ?? null
    this.#network = options.network ?? defaults
    this.#onFailed = options.onFailed ?? (() => {})
    this.#connections = new Connections(this.#network, options.onRefused ?? (() => {}))
    this.#bodies = new SlowBodies(this.#network.limits)
    const onRequest: RequestListener = (request, response) => {
      if (!this.#note(request)) return errorOf(response, forServersOnly())
      // Bun's HTTP times the next request only on connections that it accepted itself.
      const nextWithinMs = this.#proxied === null ? null : this.server.keepAliveTimeout
      response.once('close', () => this.#connections.answered(request.socket, nextWithinMs))
      this.#proxied?.carry(request, response)
      this.#bodies.watch(request, response)
      if ((request as ListenedRequest).svcForwarded === true) lingerUntilRead(request, response)
      this.#listener(request, response)
    }
    this.server = tls === null ? createServer(onRequest) : createTlsServer(tls, onRequest)
    continueWhenRead(this.server, onRequest)
    const { trustsProxy, proxyProtocol } = this.#network
    this.#proxied =
      proxyProtocol && !this.#fromSandbox ? new ProxiedConnections(this.server, trustsProxy, this.#connections) : null
    // Sandboxes share one socket without addresses, so it has no caps.
    if (!this.#fromSandbox && this.#proxied === null)
      this.server.on(tls === null ? 'connection' : 'secureConnection', (socket: Socket) =>
        this.#connections.add(socket),
      )
    this.server.keepAliveTimeout = keepAliveMs
    // Large pushes and event streams may take as long as they make progress: http/bodies/slow-bodies.ts and
    // http/connections/connections.ts cut the rest.
    this.server.requestTimeout = 0
  }

  /** False for a request that this listener does not take. */
  #note(request: ListenedRequest): boolean {
    this.#connections.heard(request.socket)
    request.svcFromSandbox = this.#fromSandbox
    request.svcAddress = this.#fromSandbox ? 'sandbox' : clientOf(this.#network, request)
    const forwarded = this.#forwarder?.admit(request) ?? null
    if (forwarded === null && this.#peersOnly && this.#forwarder?.isForServers(request) === false) return false
    if (forwarded === null || this.#fromSandbox) return true
    request.svcForwarded = true
    request.svcFromSandbox = forwarded.fromSandbox
    request.svcAddress = forwarded.address
    // The caps of the client apply, not those of the server that forwards.
    if (!forwarded.fromSandbox) this.#connections.relays(request.socket, forwarded.address)
    return true
  }

  /** The forwarder comes first, then the ingress handlers in their order. */
  answerWith(fetch: Fetch, handlers: IngressHandler[] = [], forwarder: Forwarder | null = null): void {
    this.#forwarder = forwarder
    const listener = getRequestListener(
      async (request, env) => replyWithinCaps(this.#connections, await fetch(request, env), env as Bindings),
      { overrideGlobalObjects: false },
    )
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const handler = handlers.find((each) => each.takes(request, false))
      if (handler === undefined) void listener(request, response)
      else void handler.request(request, response).catch((error: unknown) => this.#failed(response, error))
    }
    this.#listener = (request: IncomingMessage, response: ServerResponse) => {
      const passed = forwarder?.request(request, response) ?? null
      if (passed === null) return answer(request, response)
      passed.then(
        (isPassed) => (isPassed ? undefined : answer(request, response)),
        (error: unknown) => this.#failed(response, error),
      )
    }
    this.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      if (!this.#note(request)) return void refuse(socket, forServersOnly())
      try {
        this.#connections.beginStream(request.socket, addressOf(request))
      } catch (error) {
        void refuse(socket, error as ServiceError)
        return
      }
      const passed = forwarder?.upgrade(request, socket, head) ?? null
      const cut = (error: unknown) => {
        this.#onFailed(error)
        socket.destroy()
      }
      const answerHere = () => answerUpgrade(handlers, request, socket, head).catch(cut)
      if (passed === null) return void answerHere()
      passed.then((isPassed) => (isPassed ? undefined : answerHere()), cut)
    })
  }

  #failed(response: ServerResponse, error: unknown): void {
    this.#onFailed(error)
    if (response.headersSent) response.destroy()
    else errorOf(response, new ServiceError('internal', 'Something went wrong on our side.'))
  }

  load(): ReturnType<Connections['load']> {
    return this.#connections.load()
  }

  async onPort(host: string, port: number, setting: 'SVC_PORT' | 'SVC_PEER_LISTEN' = 'SVC_PORT'): Promise<number> {
    const server = this.#proxied?.server ?? this.server
    await listening(server, () => server.listen({ host, port }), { where: `${host}:${port}`, setting })
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  /**
   * Alone in its folder, which the driver mounts into sandboxes. Their users differ from ours, so everyone may connect
   * who gets that far: only this server's user may enter the folder above.
   */
  async onSocket(path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o755 })
    // Renamed into place: between a removal and a bind another server on this folder could take the name.
    const own = `${path}.${randomBytes(4).toString('hex')}`
    await listening(this.server, () => this.server.listen(own), { where: own, setting: 'SVC_PORT' })
    await chmod(own, 0o666)
    await rename(own, path)
    this.#socketPath = path
  }

  /** Refuses new connections and lets requests end; what does not end in time is cut. */
  async close(): Promise<void> {
    // The system would remove the name it was made with. The lock of the data folder keeps another server from this one.
    if (this.#socketPath !== null) await rm(this.#socketPath, { force: true })
    const closed = Promise.all([
      new Promise<void>((resolve) => this.server.close(() => resolve())),
      this.#proxied?.close(),
    ])
    this.server.closeIdleConnections()
    // A connection whose request ends meanwhile is idle then, and would wait for its caller's next one.
    const idling = setInterval(() => this.server.closeIdleConnections(), idleLookMs)
    await withDeadline(closed, drainMs, () => {
      this.server.closeAllConnections()
      this.#proxied?.cut()
      return withDeadline(closed, cutMs, () => null)
    })
    clearInterval(idling)
  }
}

async function answerUpgrade(handlers: IngressHandler[], request: IncomingMessage, socket: Duplex, head: Buffer) {
  const handler = handlers.find((each) => each.takes(request, true))
  await (handler === undefined ? refuseUpgrade(socket) : handler.upgrade(request, socket, head))
}

interface Place {
  where: string
  /** By which the operator chooses another place. */
  setting: 'SVC_PORT' | 'SVC_PEER_LISTEN'
}

function listening(server: NetServer, start: () => void, place: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, place)))
    server.once('listening', () => resolve())
    start()
  })
}

function errorOf(response: ServerResponse, error: ServiceError): void {
  response.writeHead(errorStatus(error.code), { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(error.toBody()))
}

function forServersOnly(): ServiceError {
  return new ServiceError('forbidden', 'Only the other servers of this installation may use this port.', {
    hint: 'Use the address that SVC_PUBLIC_URL names.',
  })
}

/** No other handler here speaks another protocol than HTTP. */
async function refuseUpgrade(socket: Duplex): Promise<void> {
  const error = new ServiceError('invalid', 'This URL does not support upgrades.', {
    hint: 'Send the request without the Upgrade header.',
  })
  await refuse(socket, error)
}

async function refuse(socket: Duplex, error: ServiceError): Promise<void> {
  await writeResponse(socket, Response.json(error.toBody(), { status: errorStatus(error.code) }))
}

function notReady({ headers }: IncomingMessage, response: ServerResponse): void {
  const [error, hint] = ['The server is starting.', 'Try again in a moment.']
  const isForGit = isGitClient(headers['user-agent'])
  const type = isForGit ? 'text/plain' : 'application/json'
  response.writeHead(503, { 'content-type': `${type}; charset=utf-8`, 'retry-after': '1' })
  response.end(isForGit ? `${error}\n${hint}\n` : JSON.stringify({ error, code: 'unavailable', hint }))
}

function explain(error: NodeJS.ErrnoException, { where, setting }: Place): Error {
  if (error.code === 'EADDRINUSE' && setting === 'SVC_PORT')
    return new StartupError(
      `${where} is in use by another program, perhaps another svc. Stop it, or choose another port: put SVC_PORT=8421 before the command that starts this one.`,
    )
  if (error.code === 'EADDRINUSE')
    return new StartupError(`${where} is in use by another program. Choose another address or port with ${setting}.`)
  if (error.code === 'EACCES')
    return new StartupError(`This user may not listen on ${where}. Choose a port above 1024 with ${setting}.`)
  if (
    error.code === 'EADDRNOTAVAIL' ||
    error.code === 'ENOTFOUND' ||
    error.code === 'EAI_AGAIN' ||
    error.code === 'EINVAL'
  )
    return new StartupError(
      `This machine has no address ${where}. Check ${setting === 'SVC_PORT' ? 'SVC_HOST' : setting}.`,
    )
  return error
}
