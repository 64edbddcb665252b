/** The pages of the dashboard that a command can open. */
import type { Flag } from './command.ts'
import type { Context } from './context.ts'
import { openBrowser } from './browser.ts'
import { parseHostUrl } from './hosts.ts'

export const webFlag = { kind: 'switch', summary: 'Open its page in the browser' } as const satisfies Flag

/** Each part is one name, whatever is in it. */
export function projectPage(project: string, ...rest: readonly string[]): string {
  return `/${['projects', project, ...rest].map(encodeURIComponent).join('/')}`
}

/** The address goes to stdout, so that it is of use where no browser can be opened. */
export async function openPage(ctx: Context, path: string): Promise<void> {
  const { io, out } = ctx
  const override = io.env.SVC_DASHBOARD_URL
  const base = override ? parseHostUrl(override, 'SVC_DASHBOARD_URL') : (await ctx.host()).base
  const url = `${base}${path}`
  if (out.json) return out.document({ url })
  out.line(url)
  if (!out.terminal) return
  if (await openBrowser(io, url)) out.note('Opened in the browser.')
  else out.note('No browser can be opened here: follow the address, or set BROWSER.')
}
