/** What a preview shows when there is no program to show: a page for a person, JSON for a program. */
import type { IncomingMessage } from 'node:http'
import { errorStatus, type ErrorCode } from '@svc/contract'

export type PreviewPage =
  | { kind: 'unknown' }
  | { kind: 'foreign' }
  | { kind: 'stranger' | 'used' | 'nothing-listens' | 'broken'; port: number; sessionId: string }
  | { kind: 'not-running'; port: number; sessionId: string; status: string; error: string | null }

interface Words {
  code: ErrorCode
  title: string
  text: string
  command?: string
  /** Seconds after which the page looks again. */
  again?: number
}

export function previewPage(request: IncomingMessage, page: PreviewPage): Response {
  const words = wordsOf(page)
  const headers = {
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...(words.again === undefined ? {} : { 'retry-after': String(words.again) }),
  }
  const status = errorStatus(words.code)
  if (!(request.headers.accept ?? '').includes('text/html')) {
    const hint = words.command === undefined ? {} : { hint: words.command }
    return Response.json({ error: `${words.title}. ${words.text}`, code: words.code, ...hint }, { status, headers })
  }
  return new Response(html(words), { status, headers: { ...headers, 'content-type': 'text/html; charset=utf-8' } })
}

function wordsOf(page: PreviewPage): Words {
  switch (page.kind) {
    case 'unknown':
      return {
        code: 'not_found',
        title: 'No preview has this address',
        text: 'An address is <port>--<session>, then the preview domain.',
      }
    case 'foreign':
      return {
        code: 'forbidden',
        title: 'Another page asked for this',
        text: 'A preview answers its own pages only; open it by a link.',
      }
    case 'stranger':
      return {
        code: 'unauthenticated',
        title: 'You are not signed in to this preview',
        text: 'Ask for an address that opens it in this browser:',
        command: again(page),
      }
    case 'used':
      return {
        code: 'unauthenticated',
        title: 'This address was used already, or is older than a minute',
        text: 'Ask for a new one:',
        command: again(page),
      }
    case 'not-running':
      return notRunning(page)
    case 'nothing-listens':
      return {
        code: 'preview_unreachable',
        title: `Nothing listens on port ${page.port} yet`,
        text: `Start a server on port ${page.port} in the session. This page looks again every two seconds.`,
        again: 2,
      }
    case 'broken':
      return {
        code: 'preview_unreachable',
        title: `The program on port ${page.port} does not answer`,
        text: 'It broke off, or the sandbox is just being stopped. This page looks again in two seconds.',
        again: 2,
      }
    default:
      return page satisfies never
  }
}

function notRunning({ sessionId, status, error }: PreviewPage & { kind: 'not-running' }): Words {
  if (status === 'provisioning')
    return {
      code: 'unavailable',
      title: 'The session is starting',
      text: 'This page looks again in two seconds.',
      again: 2,
    }
  if (status === 'running')
    return {
      code: 'unavailable',
      title: 'The session runs at another server',
      text: 'Open the preview there.',
      again: 10,
    }
  return {
    code: 'unavailable',
    title: `The session is ${status}`,
    text: error === null ? 'Start it again:' : `${error} Start it again:`,
    command: `svc sessions restart ${sessionId.slice(0, 8)}`,
  }
}

const again = (page: { port: number; sessionId: string }) =>
  `svc sessions preview ${page.sessionId.slice(0, 8)} ${page.port}`

function html({ title, text, command, again: seconds }: Words): string {
  const refresh = seconds === undefined ? '' : `<meta http-equiv="refresh" content="${seconds}">`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${refresh}
<title>${escaped(title)}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
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
