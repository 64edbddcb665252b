/**
 * Any server takes any request. This passes each request that concerns a project to the project's home, before a body
 * is read. A request that another server forwarded is answered here or refused, and never forwarded again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorStatus, ServiceError } from '@svc/contract'
import { notFound } from '../auth/allow.ts'
import { authenticate } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import { labelOf, send } from '../http/admission/other-origin.ts'
import { addressOf, type ListenedRequest } from '../http/connections/client-address.ts'
import { type Forwarder, writeResponse } from '../http/ingress.ts'
import { messagePage } from '../http/message-page.ts'
import { idsOf, methodOf } from '../http/request-span.ts'
import { type Answered, inAMoment, replyError } from '../http/reply-error.ts'
import type { Forwarding } from '../metrics/metrics.ts'
import { challenge, gitLines, inLines, isGitClient, isGitPath, refusalOfStranger } from '../projects/git-gateway.ts'
import type { Span } from '../tracing/tracing.ts'
import { conceal, isHidden } from './conceal.ts'
import { type Destination, Homes } from './homes.ts'
import { locate, type Located, routedPath } from './locate.ts'
import { passRequest, passUpgrade } from './pass.ts'
import { isAnswering, isReachable, lookAgain } from './reachable.ts'
import { clockText, logOtherClock, type OtherClock } from './other-clock.ts'
import {
  clockHeader,
  movedHeader,
  peerHeader,
  type ReadForward,
  readForward,
  removeHeader,
  signForward,
} from './peer-header.ts'
import type { PeerTls } from './peer-tls.ts'
import { admitTrace, keyOf, traceHeaders } from './peer-trace.ts'
import type { Peer } from './store.ts'

/** What servers ask each other, with a proof of their own in each request. */
const forServers = /^\/v1\/(?:peer|replicas)\//
/** How often a request that was passed on looks whether that server still lives, and, every so many times, accepts connections. */
const lookEveryMs = 1_000
const looksPerConnection = 5
/** One attempt may fail on a network that loses packets, and no server has a fresh sign of life when the database is back. */
const missedMax = 2
const retrySeconds = 2

type Concerned = Parameters<typeof isHidden>[2]
type PeerDestination = Extract<Destination, { kind: 'peer' }>

/**
 * Requests that came with a header of a server: none of them is forwarded, so no loop is possible. Null: no server signed
 * the request for this one, as when a client sends the header itself.
 */
const claimed = new WeakMap<IncomingMessage, ReadForward | null>()

/** By how many seconds the clock of the server is ahead that signed the request, which is refused. Null: both agree. */
function otherClockOf(request: IncomingMessage): number | null {
  const aheadMs = claimed.get(request)?.aheadMs ?? null
  return aheadMs === null ? null : Math.round(aheadMs / 1000)
}

export function makeForwarder(deps: Deps, peerTls: PeerTls): Forwarder {
  const key = deps.keyring.derive('requests between servers')
  const traceKey = keyOf(deps.keyring)
  const homes = new Homes(deps)
  const reach = (peer: Peer, request: ListenedRequest) => ({
    peerUrl: peer.peer_url,
    trust: peerTls.trust(peer),
    trace: traceHeaders(deps),
    signature: signForward(key, request, {
      to: peer.server_name,
      at: deps.now().getTime(),
      fromSandbox: request.svcFromSandbox === true,
      address: addressOf(request),
    }),
  })
  const answer = new Refusals(deps)

  return {
    admit(request) {
      admitTrace(traceKey, request)
      if (request.headers[peerHeader] === undefined) return null
      const { serverName } = deps
      const forwarded = readForward(key, request, { serverName, now: deps.now().getTime() })
      removeHeader(request, peerHeader)
      claimed.set(request, forwarded)
      return forwarded
    },
    isForServers: ({ url }) => forServers.test(routedPath(url)),
    request(request, response) {
      const aheadSeconds = otherClockOf(request)
      if (aheadSeconds !== null) return sent(response, answer.lateHere(request, aheadSeconds))
      const located = locate(deps.config, request)
      if (located === null) return null
      const isWrite = writesToProject(request)
      const known = claimed.has(request) ? undefined : homes.known(located)
      if (known !== undefined) {
        if (isWrite) deps.homeGate.begin(known, response)
        return null
      }
      return answered(
        () => passOn(request, response, { located, isWrite }),
        async (error) => send(response, await answer.failedBefore(request, error)),
      )
    },
    upgrade(request, socket, head) {
      const write = (response: Response) => writeResponse(socket, response)
      const aheadSeconds = otherClockOf(request)
      if (aheadSeconds !== null) return write(answer.lateHere(request, aheadSeconds)).then(() => true)
      const located = locate(deps.config, request)
      if (located === null || (!claimed.has(request) && homes.known(located) !== undefined)) return null
      return answered(
        async () => {
          if (claimed.has(request)) return refuseUnlessHome(request, located, write)
          const caller = callerOf(request)
          const to = await homes.destination(located, caller)
          if (to.kind === 'here') return false
          const concerned = { located, caller, projectId: to.projectId }
          if (to.kind === 'absent') return refuse(request, concerned, () => write(absent(request, to)))
          tunnel(request, socket, head, {
            to,
            silent: () =>
              answered(
                () =>
                  refuseLate(request, concerned, () => answer.silent(request, to))
                    .then(write)
                    .then(() => true),
                (error) => write(answer.failed(request, error)),
              ),
          })
          return true
        },
        (error) => write(answer.failed(request, error)),
      )
    },
  }

  function absent(request: ListenedRequest, to: Extract<Destination, { kind: 'absent' }>): Response {
    deps.metrics.forwarded(to.home, 'absent')
    return answer.absent(request, to)
  }

  function tunnel(
    request: ListenedRequest,
    socket: Duplex,
    head: Buffer,
    { to: { peer }, silent }: { to: PeerDestination; silent: () => Promise<unknown> },
  ): void {
    let outcome: Forwarding = 'upgraded'
    const watching = watch(peer)
    socket.once('close', () => {
      watching.end()
      deps.metrics.forwarded(peer.server_name, outcome)
    })
    passUpgrade(request, socket, head, {
      ...reach(peer, request),
      signal: watching.signal,
      mayRepeat: false,
      began() {},
      failed() {
        outcome = 'unreachable'
        void silent()
      },
    })
  }

  /** False: this server answers. */
  async function passOn(
    request: ListenedRequest,
    response: ServerResponse,
    { located, isWrite }: { located: Located; isWrite: boolean },
  ): Promise<boolean> {
    const caller = callerOf(request)
    let isRetry = false
    for (;;) {
      const to = await (claimed.has(request) ? homes.ifHome(located, caller) : homes.destination(located, caller))
      if (to === null) return sent(response, answer.notHome(request))
      const writesTo = isWrite && to.kind !== 'absent' ? to.projectId : null
      const concerned = { located, caller, projectId: to.projectId }
      if (writesTo !== null && to.isMoving) {
        // git asks without its credential first. It would wait for the challenge, and as long again with the credential.
        if (!(await isHidden(deps, request, concerned)) && (await homes.untilMoved(writesTo))) continue
        return refuse(request, concerned, () => sent(response, answer.moving(request)))
      }
      if (to.kind === 'here') {
        if (writesTo === null) return false
        // It closed while this request looked.
        if (deps.homeGate.isClosed(writesTo)) continue
        deps.homeGate.begin(writesTo, response)
        return false
      }
      if (to.kind === 'absent') return refuse(request, concerned, () => sent(response, absent(request, to)))
      const mayRepeat = located.kind === 'project' || located.kind === 'slug'
      const failure = await passTraced(request, response, { peer: to.peer, mayRepeat })
      if (failure === null) return true
      if (to.projectId !== null) homes.forget(to.projectId)
      if (failure.kind === 'clock') {
        const { aheadSeconds } = failure
        return sent(response, await refuseLate(request, concerned, () => answer.late(request, to, aheadSeconds)))
      }
      const isLast = isRetry || hasBody(request)
      // A server that is still the home cannot say that it is not: its address leads to another one.
      if (failure.kind !== 'moved' || (isLast && !(await isAnswering(deps, to.peer))))
        return sent(response, await refuseLate(request, concerned, () => answer.silent(request, to)))
      // A request without a body can be sent again: the other server did nothing, and sent nothing of an answer.
      if (isLast) return sent(response, answer.moved(request))
      isRetry = true
    }
  }

  /**
   * Until `end`: aborts when the other server dies, or cannot be reached any more. A machine without power, and a network
   * that drops packets, leave connections open, also those of clones and terminals.
   */
  function watch(peer: Peer): { signal: AbortSignal; end: () => void } {
    const dead = new AbortController()
    let [looks, unseen, unreached] = [0, 0, 0]
    const look = async () => {
      if (++looks % looksPerConnection === 0) unreached = (await isReachable(peer.peer_url)) ? 0 : unreached + 1
      if (unreached >= missedMax) return dead.abort()
      unseen = (await homes.isLive(peer.server_name)) ? 0 : unseen + 1
      if (unseen >= missedMax) dead.abort()
    }
    const looking = setInterval(() => void look().catch(lookAgain), lookEveryMs)
    return { signal: dead.signal, end: () => clearInterval(looking) }
  }

  /** The span ends when the answer begins, as that of a request that this server answers. */
  function passTraced(request: ListenedRequest, response: ServerResponse, to: { peer: Peer; mayRepeat: boolean }) {
    const { peer } = to
    const method = methodOf(request.method ?? 'GET')
    const ids = idsOf(routedPath(request.url))
    const attributes = { ...ids, 'http.request.method': method, 'svc.peer': peer.server_name }
    return deps.tracing.span(`${method} forwarded`, { kind: 'server', parent: 'none', attributes }, (span) =>
      passWatched(request, response, { ...to, span }),
    )
  }

  async function passWatched(
    request: ListenedRequest,
    response: ServerResponse,
    { peer, mayRepeat, span }: { peer: Peer; mayRepeat: boolean; span: Span },
  ) {
    const watching = watch(peer)
    const sentAt = performance.now()
    let isAnswered = false
    const began = (status: number) => {
      isAnswered = true
      span.set({ 'http.response.status_code': status })
      span.end()
      deps.metrics.forwardedAnswer(peer.server_name, (performance.now() - sentAt) / 1000)
    }
    try {
      const to = { ...reach(peer, request), signal: watching.signal, began, mayRepeat }
      const failure = await passRequest(request, response, to)
      if (isAnswered) return failure
      const outcome = failure?.kind ?? 'left'
      deps.metrics.forwarded(peer.server_name, outcome)
      span.fail(outcome)
      return failure
    } finally {
      watching.end()
    }
  }

  /** False: this server answers, to a caller who may not know that there is such a project. */
  async function refuse(
    request: ListenedRequest,
    concerned: Concerned,
    write: () => Promise<unknown>,
  ): Promise<boolean> {
    if (await isHidden(deps, request, concerned)) {
      conceal(request, concerned.located, deps.newId)
      return false
    }
    await write()
    return true
  }

  /** The same after its body, or what follows an upgrade, was passed on: no route can answer it any more. */
  async function refuseLate(
    request: ListenedRequest,
    concerned: Concerned,
    refusal: () => Response,
  ): Promise<Response> {
    if (!(await isHidden(deps, request, concerned))) return refusal()
    const { caller } = concerned
    if (isGitPath(routedPath(request.url)))
      return challenge(answer.failed(request, await refusalOfStranger(deps, caller.authorization)))
    const error = await authenticate(deps, caller).then(
      () => notFound('project'),
      (reason: unknown) => reason,
    )
    return answer.failed(request, error)
  }

  async function refuseUnlessHome(
    request: ListenedRequest,
    located: Located,
    write: (response: Response) => Promise<void>,
  ): Promise<boolean> {
    if ((await homes.ifHome(located, callerOf(request))) !== null) return false
    await write(answer.notHome(request))
    return true
  }
}

async function answered(pass: () => Promise<boolean>, failed: (error: unknown) => Promise<void>): Promise<boolean> {
  try {
    return await pass()
  } catch (error) {
    await failed(error)
    return true
  }
}

async function sent(response: ServerResponse, answer: Response): Promise<true> {
  await send(response, answer)
  return true
}

/** Also the handshake of a push, so that it reads the refs of the home that takes the push. */
const pushes = /\/git\/(?:git-receive-pack|info\/refs\?(?:.*&)?service=git-receive-pack)/
/** A sandbox reports what it put back while its project moves away, too: it changes rows alone. */
const reads = /\/git\/git-upload-pack|\/sessions\/[^/?#]+\/wip\/recovered(?:[?#]|$)/
const entriesOfProject = /^\/v1\/(?:projects\/[^/?#]+\/|projects\/[^/?#]+(?:[?#]|$)|channels\/slack\/|mcp(?:[/?#]|$))/

/** Whether it may change the project at its home. Requests to programs in its sandboxes end with these. */
function writesToProject({ method, url: sent }: IncomingMessage): boolean {
  const url = routedPath(sent)
  if (pushes.test(url)) return true
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return false
  return entriesOfProject.test(url) && !reads.test(url)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function callerOf({ headers, method = 'GET' }: IncomingMessage) {
  return {
    authorization: headers.authorization ?? null,
    cookie: headers.cookie ?? null,
    method,
    origin: headers.origin ?? null,
    secFetchSite: (headers['sec-fetch-site'] as string | undefined) ?? null,
    host: headers.host ?? null,
  }
}

const isForGit = ({ url, headers }: IncomingMessage) => isGitPath(routedPath(url)) && isGitClient(headers['user-agent'])

/** The answers of this server where another one should have answered. */
class Refusals {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  absent(request: IncomingMessage, { home, lastSeen }: Extract<Destination, { kind: 'absent' }>): Response {
    const since = lastSeen === null ? '' : ` It was last seen at ${lastSeen}.`
    // A process that is paused, or a machine without its network, looks the same from here as one that has ended.
    return this.#unavailable(
      request,
      `The server that keeps this project, ${home}, is not running or does not answer.${since}`,
    )
  }

  silent(request: IncomingMessage, { peer, projectId }: PeerDestination): Response {
    const which = projectId === null ? 'chosen for this project' : 'that keeps this project'
    return this.#unavailable(request, `The server ${which}, ${peer.server_name}, does not answer.`)
  }

  moving(request: IncomingMessage): Response {
    return this.#unavailable(request, 'This project is moving to another server.')
  }

  moved(request: IncomingMessage): Response {
    const answer = this.moving(request)
    answer.headers.set(movedHeader, '1')
    return answer
  }

  /** To a request that came with the header of a server and is for another home. */
  notHome(request: IncomingMessage): Response {
    if (claimed.get(request) !== null) return this.moved(request)
    const error = new ServiceError(
      'invalid',
      `No server signed the header ${peerHeader} of this request for this one.`,
      {
        hint: `Send the request without ${peerHeader}: only servers send it to each other. A proxy between servers must leave the header, the Host and the path as they are.`,
      },
    )
    const answer = this.failed(request, error)
    // A server whose signature does not fit, as behind such a proxy, looks for the home again.
    answer.headers.set(movedHeader, '1')
    return answer
  }

  /** The other server took nothing: the clock of this one differs. */
  late(request: IncomingMessage, { peer }: PeerDestination, seconds: number): Response {
    return this.#late(request, { of: this.#deps.serverName, than: peer.server_name, seconds })
  }

  /** To the server that passed the request on, which its header does not name. */
  lateHere(request: IncomingMessage, seconds: number): Response {
    const clock = { of: 'another server', than: this.#deps.serverName, seconds }
    logOtherClock(this.#deps, clock)
    const answer = this.#late(request, clock)
    answer.headers.set(clockHeader, `${seconds}`)
    return answer
  }

  #late(request: IncomingMessage, clock: OtherClock): Response {
    const mend =
      'If it fails for minutes, the operator of this service has to synchronize both clocks: timedatectl set-ntp true'
    return this.#unavailable(request, clockText(clock), mend)
  }

  failed(request: IncomingMessage, error: unknown): Response {
    return replyError(error, this.#about(request), this.#deps)
  }

  /** Answers a request that reached no route, as without the database. git shows its user no JSON. */
  async failedBefore(request: IncomingMessage, error: unknown): Promise<Response> {
    const answer = this.failed(request, error)
    return isForGit(request) ? inLines(answer) : answer
  }

  #unavailable(request: IncomingMessage, message: string, mend?: string): Response {
    const about = this.#about(request)
    const { id, method, path } = about
    this.#deps.log.warn(
      { request_id: id, method, path, reason: message },
      'a request for a project of another server was refused',
    )
    const answer = this.#unavailableAnswer(request, { about, message, mend })
    answer.headers.set('x-request-id', id)
    return answer
  }

  #unavailableAnswer(
    request: IncomingMessage,
    { about, message, mend }: { about: Answered; message: string; mend: string | undefined },
  ): Response {
    const hintOf = (method: string) => [inAMoment(method), ...(mend === undefined ? [] : [mend])].join(' ')
    const hint = hintOf(request.method ?? 'GET')
    if (labelOf(this.#deps.config, request) !== null)
      return messagePage(request, { code: 'unavailable', title: 'Unavailable', text: message, again: retrySeconds })
    if (isForGit(request))
      return gitLines([message, hintOf('GET')], {
        status: errorStatus('unavailable'),
        headers: { 'retry-after': `${retrySeconds}` },
      })
    return replyError(
      new ServiceError('unavailable', message, { hint, detail: { retry_after_seconds: retrySeconds } }),
      about,
      this.#deps,
    )
  }

  /** Without the query, which can hold a ticket. */
  #about({ method = '', url = '' }: IncomingMessage): Answered {
    return { id: this.#deps.newId(), method, path: url.split('?')[0]!.slice(0, 500) }
  }
}
