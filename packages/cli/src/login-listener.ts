/** Where the page hands over its code: a listener for this machine alone, and for somebody who pastes it. */
import { timingSafeEqual } from 'node:crypto'
import { statusOfClass } from '@svc/contract/errors'
import { Refusal } from './errors.ts'
import type { Io } from './io.ts'

const bodyBytesMax = 4096
const code = /^[0-9A-Za-z]{16,200}$/

export interface LoginListener {
  port: number
  /** Ends when a code was exchanged; throws when it could not be, or when somebody said no. */
  approved: Promise<void>
  close(): Promise<void>
}

export function listenForApproval(options: {
  /** Of the page: no other may read an answer or be heard. */
  origin: string
  state: string
  /** Where a code can be pasted. */
  stdin: Io['stdin'] | null
  signal: AbortSignal
  notACode(): void
  exchange(code: string): Promise<void>
}): LoginListener {
  const { origin, state, signal } = options
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // It is waited for only once the page is shown.
  promise.catch(() => {})
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  let taken = false

  /** The first code decides; the answer is for the page. */
  async function take(given: string): Promise<string | null> {
    if (taken) return 'This sign-in is over already.'
    taken = true
    try {
      await options.exchange(given)
      resolve()
      return null
    } catch (error) {
      reject(error)
      return (error as Error).message
    }
  }

  async function post(request: Request): Promise<Response> {
    const text = await request.text()
    const said = text.length <= bodyBytesMax ? readMessage(text) : null
    if (said === null || !same(said.state, state))
      return json({ ok: false, error: 'This is not our page.' }, 'forbidden')
    if (said.refused) {
      taken = true
      reject(new Refusal('cancelled', 'The sign-in was refused on the page: nothing was changed'))
      return json({ ok: true })
    }
    const problem = await take(said.code)
    return json(problem === null ? { ok: true } : { ok: false, error: problem })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, server) {
      const url = new URL(request.url)
      // A name that was made to lead here is not our address.
      if (request.headers.get('host') !== `127.0.0.1:${server.port}` || url.pathname !== '/callback')
        return new Response('Nothing is here.\n', { status: statusOfClass.not_found })
      if (request.method === 'GET') return navigated(url, state, take)
      if (request.headers.get('origin') !== origin) return json({ ok: false, error: 'Not from here.' }, 'forbidden')
      const response = request.method === 'POST' ? await post(request) : new Response(null, { status: 204 })
      response.headers.set('access-control-allow-origin', origin)
      // Browsers ask before a page of the network speaks to a program of this machine.
      response.headers.set('access-control-allow-private-network', 'true')
      response.headers.set('access-control-allow-headers', 'content-type')
      return response
    },
  })
  const stopPaste = options.stdin === null ? () => {} : hearPaste(options.stdin, take, options.notACode)
  return {
    port: server.port!,
    approved: promise,
    async close() {
      stopPaste()
      // The page still waits for the answer that is under way.
      await server.stop(false)
    },
  }
}

/** The link of the page, for a browser that keeps its scripts away from this machine. */
async function navigated(url: URL, state: string, take: (code: string) => Promise<string | null>): Promise<Response> {
  const given = url.searchParams.get('code') ?? ''
  const ours = same(url.searchParams.get('state') ?? '', state) && code.test(given)
  const problem = ours ? await take(given) : 'This is not the address that the page gave.'
  const text = problem === null ? 'Your terminal is signed in. You can close this page.' : `Not signed in: ${problem}`
  return new Response(`${text}\n`, {
    status: problem === null ? 200 : statusOfClass.forbidden,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  })
}

function readMessage(text: string): { state: string; code: string; refused: boolean } | null {
  try {
    const { state, code: given, refused } = JSON.parse(text) as Record<string, unknown>
    if (typeof state !== 'string') return null
    if (refused === true) return { state, code: '', refused: true }
    return typeof given === 'string' && code.test(given) ? { state, code: given, refused: false } : null
  } catch {
    return null
  }
}

/** The code alone, or the address of the page's link. */
function hearPaste(
  stdin: Io['stdin'],
  take: (code: string) => Promise<string | null>,
  notACode: () => void,
): () => void {
  let line = ''
  const hear = (chunk: unknown) => {
    line = (line + String(chunk)).slice(-bodyBytesMax)
    const end = line.search(/[\r\n]/)
    if (end === -1) return
    const text = line.slice(0, end).trim()
    line = ''
    const given = URL.canParse(text) ? (new URL(text).searchParams.get('code') ?? '') : text
    if (code.test(given)) void take(given)
    else if (text !== '') notACode()
  }
  stdin.on('data', hear)
  return () => {
    stdin.removeListener('data', hear)
    stdin.pause()
  }
}

function json(body: object, refused?: 'forbidden'): Response {
  return Response.json(body, { status: refused === undefined ? 200 : statusOfClass[refused] })
}

function same(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}
