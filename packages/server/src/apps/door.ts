/** Apps on their own origins, `http://<app>--<project>.<preview domain>`, for who may read the project. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contract'
import { headerLines } from '@svc/contract/raw-headers'
import { parse } from 'hono/utils/cookie'
import { LRUCache } from 'lru-cache'
import { allow } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { type Door, writeResponse } from '../http/door.ts'
import { hostOf, isForeign, send } from '../http/other-origin.ts'
import { closeUnlessAdmitted } from '../http/while-admitted.ts'
import { getProject } from '../projects/store.ts'
import { passRequest, passUpgrade, type Passage } from '../sessions/tunnel.ts'
import { type AppPage, appPage } from './door-page.ts'
import { cookieMs, findGrant, grant, takeTicket, ticketName } from './grants.ts'
import type { Serving } from './keeper.ts'
import { appOf } from './read.ts'
import { type AppRow, getAppByHost } from './store.ts'

/** How long a role that was taken away may still see a page. */
const knownMs = 5_000
const previewLabel = /^[1-9][0-9]{0,4}--[0-9a-f-]{36}$/

type Outcome =
  | { kind: 'answer'; response: Response }
  | { kind: 'pass'; passage: Passage; serving: Serving; app: AppRow }

interface Viewer {
  userId: string
  role: string
  /** The session whose token opened the app; null: a person did. */
  sessionId: string | null
}

/** Takes the names of apps below the preview domain; all others there are previews'. */
export function appDoor(deps: Deps): Door {
  const suffix = `.${deps.config.previewDomain.toLowerCase()}`
  const own = new URL(deps.config.publicUrl).hostname.toLowerCase()
  const visits = new Visits(deps)
  const labelOf = (request: IncomingMessage) => {
    const name = hostOf(request)
    return name !== own && name.endsWith(suffix) ? name.slice(0, -suffix.length) : ''
  }
  return {
    takes(request) {
      const label = labelOf(request)
      return /^[a-z0-9-]+--[a-z0-9-]+$/.test(label) && !previewLabel.test(label)
    },
    async request(request: IncomingMessage, response: ServerResponse) {
      const outcome = await visits.judge(request, labelOf(request))
      if (outcome.kind === 'answer') return send(response, outcome.response)
      const { serving, app } = outcome
      closeUnlessAdmitted(deps, response, () => visits.requireViewer(request, app))
      serving.open++
      response.on('close', () => serving.open--)
      await passRequest(request, response, outcome.passage, () =>
        send(response, appPage(request, { kind: 'broken', slug: app.slug })),
      )
    },
    async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      const outcome = await visits.judge(request, labelOf(request))
      if (outcome.kind === 'answer') return writeResponse(socket, outcome.response)
      const { app } = outcome
      closeUnlessAdmitted(deps, socket, () => visits.requireViewer(request, app))
      // A socket is not waited for when its app is replaced: it would hold up the old one for ever.
      await passUpgrade(
        request,
        socket,
        head,
        outcome.passage,
        () => void writeResponse(socket, appPage(request, { kind: 'broken', slug: app.slug })),
      )
    },
  }
}

class Visits {
  readonly #deps: Deps
  readonly #viewers = new LRUCache<string, Viewer>({ max: 10_000, ttl: knownMs })
  readonly #apps = new LRUCache<string, AppRow>({ max: 1_000, ttl: 1_000 })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async judge(request: IncomingMessage, label: string): Promise<Outcome> {
    const app = await this.#appOf(label)
    if (app === null) return page(request, { kind: 'unknown' })
    const { slug } = app
    if (isForeign(this.#deps.config.publicUrl, request)) return page(request, { kind: 'foreign' })
    const url = new URL(request.url ?? '/', 'http://app')
    const ticket = url.searchParams.get(ticketName)
    if (ticket !== null && request.method === 'GET') return this.#enter(request, app, url, ticket)
    const viewer = await this.#viewerOf(request, app)
    if (viewer === null) return this.#stranger(request, app)
    const serving = this.#deps.apps.serving(app.project_id, slug)
    if (serving === null) {
      const { project_id: projectId } = app
      const shown = await appOf(this.#deps, { projectId, slug, readerSessionId: viewer.sessionId })
      return page(request, { kind: 'not-running', slug, state: shown.state, reason: shown.reason })
    }
    return { kind: 'pass', app, serving, passage: this.#passage(request, viewer, serving) }
  }

  /** Its row as it was a second ago: names and entries change rarely, and what serves is asked of the keeper. */
  async #appOf(label: string): Promise<AppRow | null> {
    const known = this.#apps.get(label)
    if (known !== undefined) return known
    const found = await getAppByHost(this.#deps.db, label)
    if (found !== null) this.#apps.set(label, found)
    return found
  }

  /** A person who is signed in to the dashboard gets in by way of it; whether they may is asked there. */
  async #stranger(request: IncomingMessage, app: AppRow): Promise<Outcome> {
    const { method, headers } = request
    const isPage = method === 'GET' && (headers.accept ?? '').includes('text/html')
    const isFramed = ['iframe', 'frame', 'embed', 'object'].includes(String(headers['sec-fetch-dest']))
    const project = isPage && !isFramed ? await getProject(this.#deps.db, app.project_id) : null
    if (project === null) return page(request, { kind: 'stranger', slug: app.slug })
    const to = new URL(`/projects/${project.project_id}/apps/${app.slug}/open`, this.#deps.config.publicUrl)
    to.searchParams.set('path', ownPath(request.url ?? '/'))
    return redirect(new Headers({ location: to.href }))
  }

  /** The ticket becomes a cookie of this host alone, and leaves the address. */
  async #enter(request: IncomingMessage, app: AppRow, url: URL, ticket: string): Promise<Outcome> {
    url.searchParams.delete(ticketName)
    const headers = new Headers({ location: ownPath(`${url.pathname}${url.search}`) })
    const taken = await takeTicket(this.#deps.db, ticket)
    if (taken === null || taken.project_id !== app.project_id || taken.slug !== app.slug) {
      // The address of a page that is open already: whoever is in stays in.
      if ((await this.#viewerOf(request, app)) === null) return page(request, { kind: 'used', slug: app.slug })
    } else {
      const value = await grant(this.#deps, app, {
        userId: taken.user_id,
        tokenId: taken.token_id,
        isTicket: false,
      })
      const secure = this.#isSecure() ? '; Secure' : ''
      headers.set(
        'set-cookie',
        `${this.#cookieName()}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${cookieMs / 1000}${secure}`,
      )
    }
    return redirect(headers)
  }

  /** Throws once the browser may no longer see what it has open. */
  async requireViewer(request: IncomingMessage, app: AppRow): Promise<void> {
    if ((await this.#viewerOf(request, app)) === null)
      throw new ServiceError('forbidden', 'This browser may no longer see the app.')
  }

  async #viewerOf(request: IncomingMessage, app: AppRow): Promise<Viewer | null> {
    const value = parse(headerLines(request.rawHeaders, 'cookie').join('; '))[this.#cookieName()]
    if (value === undefined) return null
    const key = `${value} ${app.project_id} ${app.slug}`
    const known = this.#viewers.get(key)
    if (known !== undefined) return known
    const row = await findGrant(this.#deps.db, value)
    if (row === null || row.project_id !== app.project_id || row.slug !== app.slug) return null
    const viewer = await this.#mayRead(row.user_id, app.project_id, row.session_id)
    if (viewer !== null) this.#viewers.set(key, viewer)
    return viewer
  }

  /** The cookie says who it is; what they may is asked again. */
  async #mayRead(userId: string, projectId: string, sessionId: string | null): Promise<Viewer | null> {
    const actor = { kind: 'user' as const, user_id: userId, token_id: null, expires_at: null }
    try {
      const { project } = await allow(this.#deps, { access: 'project-read', actor, projectId, sessionId: null })
      return project === null ? null : { userId, role: project.role, sessionId }
    } catch (error) {
      if (error instanceof ServiceError) return null
      throw error
    }
  }

  #passage(request: IncomingMessage, viewer: Viewer, { daemon, sandboxId, port }: Serving): Passage {
    const path = request.url?.startsWith('/') ? request.url : '/'
    return {
      daemon: { socket: daemon.socket, sandboxKey: daemon.key, sessionId: sandboxId, generation: 1 },
      userId: viewer.userId,
      role: viewer.role,
      credentials: 'for the program',
      path: `/proxy/${port}${path}`,
      extra: ['X-Forwarded-Host', request.headers.host ?? '', 'X-Forwarded-Proto', this.#isSecure() ? 'https' : 'http'],
      // The page that opened this one is ours: neither may reach the other.
      answerExtra: { 'cross-origin-opener-policy': 'same-origin-allow-popups', 'x-robots-tag': 'noindex' },
    }
  }

  #isSecure(): boolean {
    return this.#deps.config.publicUrl.startsWith('https:')
  }

  #cookieName(): string {
    return this.#isSecure() ? '__Host-svc_app' : 'svc_app'
  }
}

const page = (request: IncomingMessage, what: AppPage): Outcome => ({
  kind: 'answer',
  response: appPage(request, what),
})

function redirect(headers: Headers): Outcome {
  headers.set('cache-control', 'no-store')
  headers.set('referrer-policy', 'no-referrer')
  return { kind: 'answer', response: new Response(null, { status: 303, headers }) }
}

/** Never `//host`, which would lead away. */
const ownPath = (path: string) => `/${path.replace(/^[/\\]+/, '')}`.slice(0, 2000)
