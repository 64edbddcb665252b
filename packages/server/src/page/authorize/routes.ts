/** The page that signs a terminal in. It stands alone, so that it works in a server whose dashboard was not built. */
import type { App } from '../../http/mount.ts'
import style from './authorize.css' with { type: 'text' }
import script from './authorize.client.js' with { type: 'text' }
import html from './authorize.html' with { type: 'text' }

/** Own files only, framed by nobody. It alone may speak to a program of the same machine: the terminal that waits. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self' http://127.0.0.1:*",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function authorizeRoutes(app: App): void {
  const serve = (path: string, type: string, text: string) =>
    app.get(
      path,
      () =>
        new Response(text, {
          headers: {
            'content-type': `${type}; charset=utf-8`,
            'content-security-policy': policy,
            'x-content-type-options': 'nosniff',
            'referrer-policy': 'no-referrer',
            'cross-origin-opener-policy': 'same-origin',
            'cache-control': 'no-cache',
          },
        }),
    )
  serve('/authorize', 'text/html', html as unknown as string)
  serve('/authorize/page.css', 'text/css', style)
  serve('/authorize/page.js', 'text/javascript', script)
}
