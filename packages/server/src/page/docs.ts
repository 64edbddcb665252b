/** The docs site under `/docs`: static files that need no sign-in and call nothing. */
import { errorStatus, ServiceError } from '@svc/contract'
import type { App } from '../http/mount.ts'
import { pageFiles } from './pack.ts'
import { sendFile } from './send-file.ts'

/**
 * Own scripts and styles only, none inline. The theme draws its icons from `data:` images, which is wider than
 * the dashboard's policy.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // The theme switches colors without a transition, by a style element whose text never changes.
  "style-src 'self' 'sha256-skqujXORqzxt1aE0NNXxujEanPTX6raoqSscTV/Ww/Y='",
  // Vue sets the width of search results and menus by attributes.
  "style-src-attr 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function docsRoutes(app: App): void {
  app.get('/docs', (c) => c.redirect('/docs/', 301))
  app.get('/docs/*', async (c) => {
    const files = await pageFiles('docs')
    if (files === null)
      throw new ServiceError('unavailable', 'The docs site was not built.', { hint: 'Build it with `npm run build`.' })
    const path = c.req.path.slice('/docs'.length)
    // A folder has an index, and an address without its `.html` still names its page.
    const file = files.get(path) ?? files.get(`${path}.html`) ?? files.get(`${path.replace(/\/$/, '')}/index.html`)
    if (file !== undefined) return sendFile(c.req.raw, file, { cache: cacheOf(path), policy })
    const missing = files.get('/404.html')
    if (missing === undefined || path.startsWith('/assets/'))
      throw new ServiceError('not_found', 'There is no such file.')
    return sendFile(c.req.raw, missing, { cache: 'no-cache', policy, status: errorStatus('not_found') })
  })
}

/** The name of an asset holds a hash of its content. */
function cacheOf(path: string): string {
  return path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
}
