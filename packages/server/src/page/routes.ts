/** A plain page until the dashboard stands: what runs, what waits for a merge, and the commands to go on with. */
import type { App } from '../http/mount.ts'
import icon from './icon.svg' with { type: 'text' }
import html from './index.html' with { type: 'text' }
import style from './page.css' with { type: 'text' }
import script from './page.client.js' with { type: 'text' }

/** Own scripts and styles only; nothing inline, nothing from elsewhere, framed by nobody. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function dashboardRoutes(app: App): void {
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
            'cache-control': 'no-cache',
          },
        }),
    )
  serve('/', 'text/html', html as unknown as string)
  serve('/sign-in', 'text/html', html as unknown as string)
  serve('/assets/icon.svg', 'image/svg+xml', icon)
  serve('/assets/page.css', 'text/css', style)
  serve('/assets/page.js', 'text/javascript', script)
}
