/** Serves the pages: one document for every URL of the dashboard, and the files it loads. */
import { randomBytes } from 'node:crypto'
import { errorStatus, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { hasDashboardCookie } from '../http/cookies.ts'
import type { App } from '../http/mount.ts'
import { canFrame } from '../sandboxes/framing.ts'
import { originOf } from '../sandboxes/private-origin.ts'
import { type PageFile, pageFiles } from './pack.ts'
import { sendFile } from './send-file.ts'

/** The first part of every path in packages/dashboard/src/paths.ts. */
const addresses = [
  '/',
  '/sign-in',
  '/authorize',
  '/invitations',
  '/projects',
  '/projects/*',
  '/account/*',
  '/settings/*',
  '/link-chat',
]

/** Allows only the server's own scripts and styles, nothing inline, and no page that frames this one. Style elements of libraries carry the nonce. */
function policy(nonce: string, frames: string | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // The diff viewer colors words by attributes. An attribute styles only its own element and loads nothing that this policy
    // forbids.
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
    // The page renders images of a change from fetched bytes.
    "img-src 'self' blob:",
    "worker-src 'self'",
    // Previews, which are frames of the page of a session.
    ...(frames === null ? [] : [`frame-src ${frames}`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export function dashboardRoutes(app: App, deps: Pick<Deps, 'config'>): void {
  for (const address of addresses) app.get(address, (c) => document(deps, c.req.raw))
  // File names contain a content hash.
  app.get('/assets/*', async (c) => {
    const file = (await pageFiles('dashboard'))?.get(c.req.path)
    if (file === undefined) throw new ServiceError('not_found', 'File not found.')
    return send(c.req.raw, file, file.type, 'public, max-age=31536000, immutable')
  })
}

/** Whether a browser requests a page. Other clients and other paths get errors as JSON. */
export function wantsPage(request: Request): boolean {
  const { pathname } = new URL(request.url)
  return (
    request.method === 'GET' &&
    /\btext\/html\b/.test(request.headers.get('accept') ?? '') &&
    !/^\/(?:v1|assets|docs|install)(?:\/|$)/.test(pathname)
  )
}

export async function noSuchPage(deps: Pick<Deps, 'config'>, request: Request): Promise<Response> {
  const { headers, body } = await document(deps, request)
  return new Response(body, { status: errorStatus('not_found'), headers })
}

async function document({ config }: Pick<Deps, 'config'>, request: Request): Promise<Response> {
  const file = (await pageFiles('dashboard'))?.get('/index.html')
  if (file === undefined)
    throw new ServiceError('unavailable', 'The pages are not built.', { hint: 'Run npm run build.' })
  const nonce = randomBytes(16).toString('base64')
  const whole = file.plain().toString('utf8').replace('{nonce}', nonce)
  const html = hasShell(request) ? whole : whole.replace(frame, '')
  const page = { ...file, gzip: Buffer.from(Bun.gzipSync(html)), plain: () => Buffer.from(html) }
  const frames = canFrame(config) ? originOf(config, '*') : null
  return send(request, page, file.type, 'no-cache', policy(nonce, frames))
}

/** The empty frame of the pages: packages/dashboard/src/index.html. */
const frame = /<!--frame-->.*<!--\/frame-->/s
const withoutShell = /^\/(?:sign-in|authorize|invitations)(?:\/|$)/

/** A browser that is not signed in goes on to the sign-in page. */
function hasShell(request: Request): boolean {
  return hasDashboardCookie(request.headers.get('cookie')) && !withoutShell.test(new URL(request.url).pathname)
}

function send(request: Request, file: PageFile, type: string, cache: string, shown = policy('none', null)): Response {
  return sendFile(request, { ...file, type }, { cache, policy: shown })
}
