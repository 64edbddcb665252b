/** The pages: one document for every address of theirs, and the files it loads. */
import { randomBytes } from 'node:crypto'
import { errorStatus, ServiceError } from '@svc/contract'
import type { App } from '../http/mount.ts'
import { type PageFile, pageFiles } from './pack.ts'

/** The first part of every address the dashboard knows: packages/dashboard/src/paths.ts. */
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

/** Own scripts and styles only; nothing inline, nothing from elsewhere, framed by nobody. A library that makes a style element gives it the nonce. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // The diff viewer colours words by attributes. An attribute styles its own element alone and loads nothing this policy
    // does not allow.
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
    // Images of a change are drawn from bytes the page fetched itself.
    "img-src 'self' blob:",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export function dashboardRoutes(app: App): void {
  for (const address of addresses) app.get(address, (c) => document(c.req.raw))
  // Their names hold a hash of what they are.
  app.get('/assets/*', async (c) => {
    const file = (await pageFiles())?.get(c.req.path)
    if (file === undefined) throw new ServiceError('not_found', 'There is no such file.')
    return send(c.req.raw, file, file.type, 'public, max-age=31536000, immutable')
  })
}

/** Whether a person mistyped an address in their browser. Programs are told in JSON, and so is all that is not a page's. */
export function wantsPage(request: Request): boolean {
  const { pathname } = new URL(request.url)
  return (
    request.method === 'GET' &&
    /\btext\/html\b/.test(request.headers.get('accept') ?? '') &&
    !/^\/(?:v1|assets|install)(?:\/|$)/.test(pathname)
  )
}

/** The page that says that there is none. */
export async function noSuchPage(request: Request): Promise<Response> {
  const { headers, body } = await document(request)
  return new Response(body, { status: errorStatus('not_found'), headers })
}

async function document(request: Request): Promise<Response> {
  const file = (await pageFiles())?.get('/index.html')
  if (file === undefined)
    throw new ServiceError('unavailable', 'The pages were not built.', { hint: 'npm run build makes them.' })
  const nonce = randomBytes(16).toString('base64')
  const html = file.plain().toString('utf8').replace('{nonce}', nonce)
  const page = { ...file, gzip: Buffer.from(Bun.gzipSync(html)), plain: () => Buffer.from(html) }
  return send(request, page, file.type, 'no-cache', nonce)
}

function send(request: Request, file: PageFile, type: string, cache: string, nonce = 'none'): Response {
  const zipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  return new Response(new Uint8Array(zipped ? file.gzip : file.plain()), {
    headers: {
      'content-type': type,
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
      vary: 'accept-encoding',
      'content-security-policy': policy(nonce),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': cache,
    },
  })
}
