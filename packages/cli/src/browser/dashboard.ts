import type { Flag } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { openBrowser } from './open.ts'
import { parseHostUrl } from '../config/hosts.ts'

export const webFlag = { kind: 'switch', summary: 'Open the page in the browser', short: 'w' } as const satisfies Flag

/** Encodes each part as one path segment. */
export function projectPage(project: string, ...rest: readonly string[]): string {
  return `/${['projects', project, ...rest].map(encodeURIComponent).join('/')}`
}

export async function openPage(ctx: Context, path: string): Promise<void> {
  const override = ctx.io.env.SVC_DASHBOARD_URL
  const base = override ? parseHostUrl(override, 'SVC_DASHBOARD_URL') : (await ctx.host()).base
  return openUrl(ctx, `${base}${path}`)
}

/** Prints the URL to stdout, so that it also helps where no browser is available. */
export async function openUrl({ io, out }: Context, url: string): Promise<void> {
  if (out.json) return out.document({ url })
  out.line(url)
  if (!out.terminal) return
  if (await openBrowser(io, url)) out.note('Opened in the browser.')
  else out.note("Can't open a browser here: open the URL yourself, or set BROWSER.")
}
