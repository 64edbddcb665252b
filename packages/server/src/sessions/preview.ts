/** Previews: a port of a session on an origin of its own, `http://<port>--<session>.<preview domain>`, for who may read the project. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contract'
import { parse } from 'hono/utils/cookie'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { allow, isUuid } from '../auth/allow.ts'
import { sha256 } from '../auth/credentials.ts'
import { headerLines } from '@svc/contract/raw-headers'
import { type Door, writeResponse } from '../http/door.ts'
import { hostOf, isForeign, send } from '../http/other-origin.ts'
import { closeUnlessAdmitted } from '../http/while-admitted.ts'
import { type PreviewPage, previewPage } from './preview-page.ts'
import { findGrant, insertGrant, takeTicket, touchSession } from './preview-store.ts'
import { getSessionById, type SessionWithSandbox } from './store.ts'
import { passRequest, passUpgrade, type Passage } from './tunnel.ts'

const ticketMs = 60_000
const cookieMs = 12 * 60 * 60_000
/** How long a role that was taken away may still see a page. */
const knownMs = 5_000
const touchEveryMs = 60_000
const ticketName = 'svc_ticket'

interface Place {
  port: number
  sessionId: string
}

/** Who looks, checked a moment ago. */
interface Viewer {
  userId: string
  role: string
}

export function previewOrigin(deps: Pick<Deps, 'config'>, { port, sessionId }: Place): string {
  const url = new URL(deps.config.publicUrl)
  const suffix = url.port === '' ? '' : `:${url.port}`
  return `${url.protocol}//${port}--${sessionId}.${deps.config.previewDomain}${suffix}`
}

/** An address that lets the browser that opens it first see that port. */
export async function openPreview(
  deps: Pick<Deps, 'db' | 'config' | 'now' | 'randomBytes'>,
  input: Place & { userId: string; tokenId: string | null },
): Promise<string> {
  const ticket = Buffer.from(deps.randomBytes(24)).toString('base64url')
  await grant(deps, { ...input, value: ticket, isTicket: true, ms: ticketMs })
  return `${previewOrigin(deps, input)}/?${ticketName}=${ticket}`
}

async function grant(
  deps: Pick<Deps, 'db' | 'now'>,
  input: Place & { userId: string; tokenId: string | null; value: string; isTicket: boolean; ms: number },
): Promise<void> {
  await insertGrant(deps.db, {
    sha256: sha256(input.value),
    is_ticket: input.isTicket,
    session_id: input.sessionId,
    port: input.port,
    user_id: input.userId,
    // What opens it ends with the token that asked: it would outlive a token that has expired or was revoked.
    token_id: input.tokenId,
    expires_at: new Date(deps.now().getTime() + input.ms),
  })
}

/** Takes every name below the preview domain: none of them is the API's, so nothing of the API answers there. */
export function previewDoor(deps: Deps): Door {
  const suffix = `.${deps.config.previewDomain.toLowerCase()}`
  const own = new URL(deps.config.publicUrl).hostname.toLowerCase()
  const previews = new Previews(deps)
  return {
    takes(request) {
      const name = hostOf(request)
      return name !== own && name.endsWith(suffix)
    },
    async request(request, response) {
      const outcome = await previews.judge(request, placeOf(hostOf(request), suffix))
      if (outcome.kind === 'answer') return send(response, outcome.response)
      closeUnlessAdmitted(deps, response, () => previews.requireViewer(request, outcome.place))
      await passRequest(request, response, outcome.passage, (failure) =>
        send(response, previews.failed(request, outcome.place, failure)),
      )
    },
    async upgrade(request, socket: Duplex, head) {
      const outcome = await previews.judge(request, placeOf(hostOf(request), suffix))
      if (outcome.kind === 'answer') return writeResponse(socket, outcome.response)
      closeUnlessAdmitted(deps, socket, () => previews.requireViewer(request, outcome.place))
      await passUpgrade(
        request,
        socket,
        head,
        outcome.passage,
        (failure) => void writeResponse(socket, previews.failed(request, outcome.place, failure)),
      )
    },
  }
}

type Outcome = { kind: 'answer'; response: Response } | { kind: 'pass'; passage: Passage; place: Place }

class Previews {
  readonly #deps: Deps
  readonly #viewers = new LRUCache<string, Viewer>({ max: 10_000, ttl: knownMs })
  readonly #touched = new LRUCache<string, true>({ max: 10_000, ttl: touchEveryMs })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async judge(request: IncomingMessage, place: Place | null): Promise<Outcome> {
    if (place === null) return this.#page(request, { kind: 'unknown' })
    if (isForeign(this.#deps.config.publicUrl, request)) return this.#page(request, { kind: 'foreign' })
    const url = new URL(request.url ?? '/', 'http://preview')
    const ticket = url.searchParams.get(ticketName)
    if (ticket !== null && request.method === 'GET') return this.#enter(request, place, url, ticket)
    const viewer = await this.#viewerOf(request, place)
    if (viewer === null) return this.#page(request, { kind: 'stranger', ...place })
    const daemon = this.#deps.keeper.daemonOf(place.sessionId)
    if (daemon === null) {
      const session = await getSessionById(this.#deps.db, place.sessionId)
      return this.#page(request, {
        kind: 'not-running',
        ...place,
        status: session?.status ?? 'gone',
        error: session?.error ?? null,
      })
    }
    this.#touch(place.sessionId)
    return { kind: 'pass', place, passage: this.#passage(request, place, viewer, daemon) }
  }

  failed(
    request: IncomingMessage,
    place: Place,
    failure: { kind: 'away' } | { kind: 'refused'; status: number; code: string },
  ): Response {
    if (failure.kind === 'refused' && failure.code === 'nothing_listens')
      return previewPage(request, { kind: 'nothing-listens', ...place })
    return previewPage(request, { kind: 'broken', ...place })
  }

  /** The ticket becomes a cookie of this host alone, and leaves the address. */
  async #enter(request: IncomingMessage, place: Place, url: URL, ticket: string): Promise<Outcome> {
    url.searchParams.delete(ticketName)
    const headers = new Headers({
      location: `${url.pathname}${url.search}`.replace(/^\/{2,}/, '/'),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    const taken = await takeTicket(this.#deps.db, sha256(ticket))
    if (taken === null || taken.session_id !== place.sessionId || taken.port !== place.port) {
      // The address of a page that is open already: whoever is in stays in.
      if ((await this.#viewerOf(request, place)) === null) return this.#page(request, { kind: 'used', ...place })
    } else {
      const value = Buffer.from(this.#deps.randomBytes(32)).toString('base64url')
      const { user_id: userId, token_id: tokenId } = taken
      await grant(this.#deps, { ...place, userId, tokenId, value, isTicket: false, ms: cookieMs })
      const secure = this.#isSecure() ? '; Secure' : ''
      headers.set(
        'set-cookie',
        `${this.#cookieName()}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${cookieMs / 1000}${secure}`,
      )
    }
    return { kind: 'answer', response: new Response(null, { status: 303, headers }) }
  }

  /** Throws once the browser may no longer see what it has open. */
  async requireViewer(request: IncomingMessage, place: Place): Promise<void> {
    if ((await this.#viewerOf(request, place)) === null)
      throw new ServiceError('forbidden', 'This browser may no longer see the preview.')
  }

  async #viewerOf(request: IncomingMessage, place: Place): Promise<Viewer | null> {
    const value = parse(headerLines(request.rawHeaders, 'cookie').join('; '))[this.#cookieName()]
    if (value === undefined) return null
    const key = `${value} ${place.sessionId} ${place.port}`
    const known = this.#viewers.get(key)
    if (known !== undefined) return known
    const row = await findGrant(this.#deps.db, sha256(value))
    if (row === null || row.session_id !== place.sessionId || row.port !== place.port) return null
    const viewer = await this.#mayRead(row.user_id, await getSessionById(this.#deps.db, place.sessionId))
    if (viewer !== null) this.#viewers.set(key, viewer)
    return viewer
  }

  /** The cookie says who it is; what they may is asked again. */
  async #mayRead(userId: string, session: SessionWithSandbox | null): Promise<Viewer | null> {
    if (session === null) return null
    const actor = { kind: 'user' as const, user_id: userId, token_id: null, expires_at: null }
    try {
      const { project_id: projectId, session_id: sessionId } = session
      const { project } = await allow(this.#deps, { access: 'project-read', actor, projectId, sessionId })
      return project === null ? null : { userId, role: project.role }
    } catch (error) {
      if (error instanceof ServiceError) return null
      throw error
    }
  }

  #passage(request: IncomingMessage, place: Place, viewer: Viewer, daemon: Passage['daemon']): Passage {
    const path = request.url?.startsWith('/') ? request.url : '/'
    return {
      daemon,
      ...viewer,
      path: `/proxy/${place.port}${path}`,
      credentials: 'for the program',
      extra: ['X-Forwarded-Host', request.headers.host ?? '', 'X-Forwarded-Proto', this.#isSecure() ? 'https' : 'http'],
      // The page that opened this one is ours: neither may reach the other.
      answerExtra: { 'cross-origin-opener-policy': 'same-origin-allow-popups', 'x-robots-tag': 'noindex' },
    }
  }

  #touch(sessionId: string): void {
    if (this.#touched.has(sessionId)) return
    this.#touched.set(sessionId, true)
    touchSession(this.#deps.db, sessionId).catch((error: unknown) =>
      this.#deps.log.warn({ err: error, session_id: sessionId }, 'the use of a preview could not be noted'),
    )
  }

  #page(request: IncomingMessage, page: PreviewPage): Outcome {
    return { kind: 'answer', response: previewPage(request, page) }
  }

  #isSecure(): boolean {
    return this.#deps.config.publicUrl.startsWith('https:')
  }

  #cookieName(): string {
    return this.#isSecure() ? '__Host-svc_preview' : 'svc_preview'
  }
}

function placeOf(name: string, suffix: string): Place | null {
  const match = /^([1-9][0-9]{0,4})--([0-9a-f-]{36})$/.exec(name.slice(0, -suffix.length))
  const port = Number(match?.[1])
  return match !== null && port <= 65_535 && isUuid(match[2]!) ? { port, sessionId: match[2]! } : null
}
