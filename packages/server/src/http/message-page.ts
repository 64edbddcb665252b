/** The answer of another origin without a running program: a page for a person, JSON for a program. */
import type { IncomingMessage } from 'node:http'
import { errorStatus, type ErrorCode } from '@svc/contract'
import { asksForWorker, endingWorker, isNoWorker } from './worker-script.ts'

export interface Message {
  code: ErrorCode
  title: string
  text: string
  command?: string
  /** Seconds after which the page reloads. */
  again?: number
}

/** `ancestors` may show the page in a frame. */
export function messagePage(request: IncomingMessage, message: Message, ancestors = "'none'"): Response {
  const status = errorStatus(message.code)
  if (asksForWorker(request) && isNoWorker(status, undefined)) return endingWorker()
  const headers = {
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; frame-ancestors ${ancestors}`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...(message.again === undefined ? {} : { 'retry-after': String(message.again) }),
  }
  if (!(request.headers.accept ?? '').includes('text/html')) {
    const hint = message.command === undefined ? {} : { hint: message.command }
    return Response.json(
      { error: `${message.title}. ${message.text}`, code: message.code, ...hint },
      { status, headers },
    )
  }
  return new Response(html(message), { status, headers: { ...headers, 'content-type': 'text/html; charset=utf-8' } })
}

function html({ title, text, command, again: seconds }: Message): string {
  const refresh = seconds === undefined ? '' : `<meta http-equiv="refresh" content="${seconds}">`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${refresh}
<title>${escaped(title)}</title>
<style>
  :root { color-scheme: light dark; background: Canvas; font: 16px/1.5 system-ui, sans-serif }
  body { margin: 18vh auto 0; max-width: 34rem; padding: 0 1.5rem }
  h1 { font-size: 1.25rem }
  code { display: block; padding: .75rem 1rem; border: 1px solid #8886; border-radius: 6px; overflow-x: auto }
</style>
<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
${command === undefined ? '' : `<code>${escaped(command)}</code>`}
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
