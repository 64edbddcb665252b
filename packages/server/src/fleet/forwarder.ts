/**
 * Any server takes any request. This passes each request that concerns a project to the project's home, before a body
 * is read. A request that another server forwarded is answered here or refused, and never forwarded again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { labelOf, send } from '../http/admission/other-origin.ts'
import { addressOf, type ListenedRequest } from '../http/connections/client-address.ts'
import { type Forwarder, writeResponse } from '../http/ingress.ts'
import { messagePage } from '../http/message-page.ts'
import { replyError } from '../http/reply-error.ts'
import { type Destination, Homes } from './homes.ts'
import { locate, type Located } from './locate.ts'
import { passRequest, passUpgrade } from './pass.ts'
import { isReachable } from './reachable.ts'
import { movedHeader, peerHeader, readForward, removePeerHeaders, signForward } from './peer-header.ts'

/** How often a request that waits for its answer looks whether that server still lives. */
const lookEveryMs = 5_000
/** One attempt may fail on a network that loses packets. */
const missedMax = 2
const retrySeconds = 2

type PeerDestination = Extract<Destination, { kind: 'peer' }>

/** Requests that came with a header of a server, valid or not: none of them is forwarded, so no loop is possible. */
const claimed = new WeakSet<IncomingMessage>()

export function makeForwarder(deps: Deps): Forwarder {
  const key = deps.keyring.derive('requests between servers')
  const homes = new Homes(deps)
  const sign = (request: ListenedRequest, to: string) =>
    signForward(key, request, {
      to,
      at: deps.now().getTime(),
      fromSandbox: request.svcFromSandbox === true,
      address: addressOf(request),
    })
  const answer = new Refusals(deps)

  return {
    admit(request) {
      if (request.headers[peerHeader] === undefined) return null
      const { serverName } = deps
      const forwarded = readForward(key, request, { serverName, now: deps.now().getTime() })
      removePeerHeaders(request)
      claimed.add(request)
      return forwarded
    },
    request(request, response) {
      const located = locate(deps.config, request)
      if (located === null || (!claimed.has(request) && homes.known(located) === 'here')) return null
      return answered(
        async () => {
          if (claimed.has(request)) return refuseUnlessHome(request, located, (error) => send(response, error))
          for (let isRetry = false; ; isRetry = true) {
            const to = await homes.destination(located, callerOf(request))
            if (to.kind === 'here') return false
            if (to.kind === 'absent') return sent(response, answer.absent(request, to))
            const failure = await passWatched(request, response, to)
            if (failure === null) return true
            if (to.projectId !== null) homes.forget(to.projectId)
            // A request without a body can be sent again; nothing of an answer was sent.
            if (failure === 'moved' && !isRetry && (request.method === 'GET' || request.method === 'HEAD')) continue
            return sent(response, failure === 'moved' ? answer.moved(request) : answer.silent(request, to))
          }
        },
        (error) => send(response, answer.failed(request, error)),
      )
    },
    upgrade(request, socket, head) {
      const located = locate(deps.config, request)
      if (located === null || (!claimed.has(request) && homes.known(located) === 'here')) return null
      const write = (response: Response) => writeResponse(socket, response)
      return answered(
        async () => {
          if (claimed.has(request)) return refuseUnlessHome(request, located, write)
          const to = await homes.destination(located, callerOf(request))
          if (to.kind === 'here') return false
          if (to.kind === 'absent') await write(answer.absent(request, to))
          else
            passUpgrade(request, socket, head, {
              peerUrl: to.peer.peer_url,
              signature: sign(request, to.peer.server_name),
              failed: () => void write(answer.silent(request, to)),
            })
          return true
        },
        (error) => write(answer.failed(request, error)),
      )
    },
  }

  /**
   * Gives up when the other server dies before it answers, or cannot be reached any more: a machine without power, and a
   * network that drops packets, leave connections open.
   */
  async function passWatched(request: ListenedRequest, response: ServerResponse, { peer }: PeerDestination) {
    const dead = new AbortController()
    let missed = 0
    const look = async () => {
      missed = (await isReachable(peer.peer_url)) ? 0 : missed + 1
      if (missed === missedMax || !(await homes.isLive(peer.server_name))) dead.abort()
    }
    const looking = setInterval(() => void look().catch(lookAgain), lookEveryMs)
    try {
      const signature = sign(request, peer.server_name)
      return await passRequest(request, response, { peerUrl: peer.peer_url, signature, signal: dead.signal })
    } finally {
      clearInterval(looking)
    }
  }

  async function refuseUnlessHome(
    request: ListenedRequest,
    located: Located,
    write: (response: Response) => Promise<void>,
  ): Promise<boolean> {
    if (await homes.isHome(located, callerOf(request))) return false
    await write(answer.moved(request))
    return true
  }
}

/** A database that does not answer says nothing about another server. */
function lookAgain(): void {}

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

/** The answers of this server where another one should have answered. */
class Refusals {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  absent(request: IncomingMessage, { home, lastSeen }: Extract<Destination, { kind: 'absent' }>): Response {
    const since = lastSeen === null ? '' : ` It was last seen at ${lastSeen}.`
    return this.#unavailable(request, `The server that keeps this project, ${home}, is not running.${since}`)
  }

  silent(request: IncomingMessage, { peer, projectId }: PeerDestination): Response {
    const which = projectId === null ? 'chosen for this project' : 'that keeps this project'
    return this.#unavailable(request, `The server ${which}, ${peer.server_name}, does not answer.`)
  }

  moved(request: IncomingMessage): Response {
    const answer = this.#unavailable(request, 'This project is moving to another server.')
    answer.headers.set(movedHeader, '1')
    return answer
  }

  failed(request: IncomingMessage, error: unknown): Response {
    return replyError(error, this.#about(request), this.#deps)
  }

  #unavailable(request: IncomingMessage, message: string): Response {
    const hint = 'Try again in a moment. With the same Idempotency-Key, nothing is done twice.'
    if (labelOf(this.#deps.config, request) !== null)
      return messagePage(request, { code: 'unavailable', title: 'Unavailable', text: message, again: retrySeconds })
    return replyError(
      new ServiceError('unavailable', message, { hint, detail: { retry_after_seconds: retrySeconds } }),
      this.#about(request),
      this.#deps,
    )
  }

  #about({ method = '', url = '' }: IncomingMessage) {
    return { id: this.#deps.newId(), method, path: url.slice(0, 500) }
  }
}
