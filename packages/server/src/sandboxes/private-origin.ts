/**
 * A program of a sandbox on its own origin below the preview domain, for users who may read its project. A one-time ticket
 * in the URL becomes a cookie of that host, and every request is authorized.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ErrorBody, type ErrorCode, ServiceError } from '@svc/contract'
import { headerLines } from '@svc/contract/daemon/raw-headers'
import { parse } from 'hono/utils/cookie'
import { LRUCache } from 'lru-cache'
import { allow } from '../auth/allow.ts'
import { sha256 } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import { type IngressHandler, writeResponse } from '../http/ingress.ts'
import { messagePage, type Message } from '../http/message-page.ts'
import { isForeign, labelOf, send } from '../http/admission/other-origin.ts'
import { replyError } from '../http/reply-error.ts'
import { closeUnlessAdmitted } from '../http/admission/while-admitted.ts'
import type { DaemonAddress } from './daemon-client.ts'
import {
  findGrant,
  type Grant,
  grant,
  type GrantDeps,
  type Grants,
  type Place as GrantedPlace,
  takeTicket,
} from './grant-store.ts'
import {
  ancestorsBeside,
  canFrame,
  frameAncestors,
  frameStep,
  isFramedNavigation,
  isOwnRequest,
  refusesFrame,
  stepPage,
} from './framing.ts'
import { type OriginWords, type Refusal, refusalWords } from './origin-page.ts'
import { type Passage, passRequest, passUpgrade, type TunnelFailure } from './tunnel.ts'

const ticketName = 'svc_ticket'
const ticketMs = 60_000
const cookieMs = 12 * 60 * 60_000
/** How long a user whose role was removed may still see a page. */
const viewerCachedMs = 5_000

export interface Viewer {
  userId: string
  role: string
  sessionId: string | null
  /** The cookie of a frame identified the user. */
  inFrame: boolean
}

interface Target {
  daemon: DaemonAddress
  port: number
  onRequest?(response: ServerResponse): void
}

interface PrivateOrigin<Place, T extends Grants> extends OriginWords {
  grants: T
  grantedPlace(place: Place): GrantedPlace<T>
  /** Whether the first label of a host name below the preview domain is of this kind. */
  takes(label: string): boolean
  /** Whether the dashboard shows it in a frame, and no other page may. */
  isFramed?: boolean
  placeOf(label: string): Promise<Place | null>
  projectOf(place: Place): Promise<{ projectId: string; sessionId: string | null } | null>
  targetOf(place: Place, viewer: Viewer): Promise<Target | { words: Message }>
  /** The command that prints a new link to the place. */
  openCommand(place: Place): string
  /** A redirect that signs the browser in, where that is possible. */
  signIn?(request: IncomingMessage, place: Place): Promise<Response | null>
  failed(place: Place, failure: TunnelFailure): Message
}

export function privateOriginIngress<Place extends object, T extends Grants>(
  deps: Deps,
  origin: PrivateOrigin<Place, T>,
): IngressHandler {
  const gate = new Gate(deps, origin)
  const admit = async (request: IncomingMessage, stream: ServerResponse | Duplex) => {
    const admitted = await gate.admit(request, labelOf(deps.config, request) ?? '')
    if (!(admitted instanceof Response))
      closeUnlessAdmitted(deps, stream, () => gate.requireViewer(request, admitted.place))
    return admitted
  }
  return {
    takes(request) {
      const label = labelOf(deps.config, request)
      return label !== null && origin.takes(label)
    },
    async request(request, response) {
      const admitted = await admit(request, response).catch((error: unknown) => brokenPage(deps, request, error))
      if (admitted instanceof Response) return send(response, admitted)
      admitted.target.onRequest?.(response)
      await passRequest(request, response, admitted.passage, (failure) =>
        send(response, gate.message(request, origin.failed(admitted.place, failure))),
      )
    },
    async upgrade(request, socket, head) {
      const admitted = await admit(request, socket).catch((error: unknown) => brokenPage(deps, request, error))
      if (admitted instanceof Response) return writeResponse(socket, admitted)
      await passUpgrade(
        request,
        socket,
        head,
        admitted.passage,
        (failure) => void writeResponse(socket, gate.message(request, origin.failed(admitted.place, failure))),
      )
    },
  }
}

/** An error before the program has the request, as without the database. It is logged without the query, which can hold a ticket. */
async function brokenPage(deps: Deps, request: IncomingMessage, error: unknown): Promise<Response> {
  const { method = 'GET', url = '/' } = request
  const reply = replyError(error, { id: deps.newId(), method, path: url.split('?')[0]!.slice(0, 500) }, deps)
  const { error: text, code, hint } = (await reply.json()) as ErrorBody & { code: ErrorCode }
  const again = Number(reply.headers.get('retry-after') ?? 0)
  return messagePage(request, {
    code,
    title: code === 'internal' ? 'Something went wrong' : 'Unavailable',
    text: hint === undefined ? text : `${text} ${hint}`,
    ...(again > 0 && { again }),
  })
}

class Gate<Place extends object, T extends Grants> {
  readonly #deps: Deps
  readonly #origin: PrivateOrigin<Place, T>
  readonly #viewers = new LRUCache<string, Viewer>({ max: 10_000, ttl: viewerCachedMs })

  constructor(deps: Deps, origin: PrivateOrigin<Place, T>) {
    this.#deps = deps
    this.#origin = origin
  }

  async admit(
    request: IncomingMessage,
    label: string,
  ): Promise<Response | { place: Place; target: Target; passage: Passage }> {
    const place = await this.#origin.placeOf(label)
    if (place === null) return this.#refuse(request, null, 'unknown')
    if (isForeign(this.#deps.config.publicUrl, request)) return this.#refuse(request, place, 'foreign')
    const url = urlOf(request)
    const ticket = url.searchParams.get(ticketName)
    if (ticket !== null && request.method === 'GET') return this.#enter(request, place, url, ticket)
    const step = this.#isFramed ? frameStep(request) : { kind: 'none' as const }
    if (step.kind === 'foreign') return this.#refuse(request, place, 'foreign')
    if (step.kind === 'leave') return redirect(ownPath(step.path))
    if (step.kind === 'enter') return stepPage(ownPath(request.url ?? '/'), this.#ancestors)
    const viewer = await this.#viewerOf(request, place)
    if (viewer === null)
      return (await this.#origin.signIn?.(request, place)) ?? this.#refuse(request, place, 'unauthenticated')
    const target = await this.#origin.targetOf(place, viewer)
    if ('words' in target) return this.message(request, target.words)
    return { place, target, passage: this.#passage(request, viewer, target) }
  }

  #refuse(request: IncomingMessage, place: Place | null, refusal: Refusal): Response {
    const command = place === null ? '' : this.#origin.openCommand(place)
    const inFrame = this.#isFramed && isFramedNavigation(request)
    const why = inFrame && refusal === 'unauthenticated' ? 'frame-unauthenticated' : refusal
    return this.message(request, refusalWords(this.#origin, why, command))
  }

  message(request: IncomingMessage, message: Message): Response {
    return messagePage(request, message, this.#isFramed ? this.#ancestors : undefined)
  }

  /** Throws once the browser may no longer see the page that it has open. */
  async requireViewer(request: IncomingMessage, place: Place): Promise<void> {
    if ((await this.#viewerOf(request, place)) === null)
      throw new ServiceError('forbidden', 'This browser may no longer see this page.')
  }

  /** Exchanges the ticket for a cookie of this host and removes it from the URL. */
  async #enter(request: IncomingMessage, place: Place, url: URL, ticket: string): Promise<Response> {
    const { grants } = this.#origin
    const of = this.#origin.grantedPlace(place)
    const taken = await takeTicket(this.#deps.db, grants, sha256(ticket), of)
    const inFrame = this.#isFramed && canFrame(this.#deps.config) && isFramedNavigation(request)
    if (taken === null && !inFrame && (await this.#viewerOf(request, place)) === null)
      return this.#refuse(request, place, 'ticket-used')
    url.searchParams.delete(ticketName)
    const path = ownPath(`${url.pathname}${url.search}`)
    const response = inFrame ? stepPage(path, this.#ancestors) : redirect(path)
    if (taken === null) return response
    const { user_id: userId, token_id: tokenId } = taken
    const value = await grant(this.#deps, grants, of, { userId, tokenId, isTicket: false, ms: cookieMs })
    response.headers.set('set-cookie', this.#cookie(value, inFrame))
    return response
  }

  async #viewerOf(request: IncomingMessage, place: Place): Promise<Viewer | null> {
    const cookies = parse(headerLines(request.rawHeaders, 'cookie').join('; '))
    const viewer = await this.#viewerBy(cookies[this.#cookieName(false)], false, place)
    if (viewer !== null || !this.#isFramed || !isOwnRequest(request)) return viewer
    return this.#viewerBy(cookies[this.#cookieName(true)], true, place)
  }

  async #viewerBy(value: string | undefined, inFrame: boolean, place: Place): Promise<Viewer | null> {
    if (value === undefined) return null
    const of = this.#origin.grantedPlace(place)
    const key = `${inFrame} ${value} ${Object.values(of).join(' ')}`
    const known = this.#viewers.get(key)
    if (known !== undefined) return known
    const found = await findGrant(this.#deps.db, this.#origin.grants, sha256(value), of)
    const viewer = found === null ? null : await this.#mayRead(found, place)
    if (viewer === null) return null
    this.#viewers.set(key, { ...viewer, inFrame })
    return { ...viewer, inFrame }
  }

  /** The cookie identifies the user, whose role may have changed since. */
  async #mayRead(
    { user_id: userId, opened_by: openedBy }: Grant,
    place: Place,
  ): Promise<Omit<Viewer, 'inFrame'> | null> {
    const of = await this.#origin.projectOf(place)
    if (of === null) return null
    const actor = { kind: 'user' as const, user_id: userId, token_id: null, expires_at: null }
    try {
      const { project } = await allow(this.#deps, { access: 'project-read', actor, ...of })
      return project === null ? null : { userId, role: project.role, sessionId: openedBy }
    } catch (error) {
      if (error instanceof ServiceError) return null
      throw error
    }
  }

  #passage(request: IncomingMessage, { userId, role, inFrame }: Viewer, { daemon, port }: Target): Passage {
    const path = request.url?.startsWith('/') ? request.url : '/'
    const ancestors = this.#ancestors
    const isFrame = inFrame && isFramedNavigation(request)
    const framing = (raw: string[]) =>
      isFrame && refusesFrame(raw, ancestors) ? 'refused' : `frame-ancestors ${ancestorsBeside(raw, ancestors)}`
    return {
      daemon,
      userId,
      role,
      path: `/proxy/${port}${path}`,
      credentials: 'for the program',
      extra: ['X-Forwarded-Host', request.headers.host ?? '', 'X-Forwarded-Proto', this.#isSecure ? 'https' : 'http'],
      // A page of the dashboard opened this one: neither may reach the other.
      answerExtra: { 'cross-origin-opener-policy': 'same-origin-allow-popups', 'x-robots-tag': 'noindex' },
      ...(this.#isFramed ? { framing } : {}),
    }
  }

  get #isSecure(): boolean {
    return this.#deps.config.publicUrl.startsWith('https:')
  }

  get #isFramed(): boolean {
    return this.#origin.isFramed === true
  }

  get #ancestors(): string {
    return frameAncestors(this.#deps.config)
  }

  #cookieName(inFrame: boolean): string {
    return `${this.#isSecure ? '__Host-' : ''}svc_${this.#origin.noun}${inFrame ? '_frame' : ''}`
  }

  /** In a frame of another site, browsers keep only a cookie like the second, and only for the site around the frame. */
  #cookie(value: string, inFrame: boolean): string {
    const age = `Max-Age=${cookieMs / 1000}`
    const attributes = inFrame
      ? `SameSite=None; ${age}; Secure; Partitioned`
      : `SameSite=Lax; ${age}${this.#isSecure ? '; Secure' : ''}`
    return `${this.#cookieName(inFrame)}=${value}; Path=/; HttpOnly; ${attributes}`
  }
}

export function redirect(location: string): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return new Response(null, { status: 303, headers })
}

/** A URL that grants access to the first browser that opens it. */
export async function openOrigin<T extends Grants>(
  deps: GrantDeps & Pick<Deps, 'config'>,
  table: T,
  { label, place }: { label: string; place: GrantedPlace<T> },
  by: { userId: string; tokenId: string | null },
): Promise<string> {
  const ticket = await grant(deps, table, place, { ...by, isTicket: true, ms: ticketMs })
  return `${originOf(deps.config, label)}/?${ticketName}=${ticket}`
}

/** A path that begins with `//` names no other host. */
function urlOf({ url: target = '/' }: IncomingMessage): URL {
  const url = URL.parse(target.startsWith('/') ? `http://origin${target}` : target, 'http://origin')
  if (url === null) throw new ServiceError('invalid', 'The address of the request is not a URL.')
  return url
}

/** Never `//host`, which would lead to another origin. */
export const ownPath = (path: string) => `/${path.replace(/^[/\\]+/, '')}`

export function originOf(
  { publicUrl, previewDomain }: Pick<Deps['config'], 'publicUrl' | 'previewDomain'>,
  label: string,
): string {
  const url = new URL(publicUrl)
  return `${url.protocol}//${label}.${previewDomain}${url.port === '' ? '' : `:${url.port}`}`
}
