/** Receives the login code: from the page by a listener on loopback, or pasted by the user. */
import { reportedWhenAwaited } from '../ignore.ts'
import { timingSafeEqual } from 'node:crypto'
import { statusOfClass } from '@svc/contract/errors'
import { Refusal } from '../errors.ts'
import type { Io } from '../io.ts'

const bodyBytesMax = 4096
const code = /^[0-9A-Za-z]{16,200}$/

interface LoginListener {
  port: number
  /** Resolves when a code was exchanged; rejects when the exchange failed or the user denied it. */
  approved: Promise<void>
  close(): Promise<void>
}

export function listenForApproval(options: {
  page: string
  state: string
  /** Accepts a pasted code. */
  stdin: Io['stdin'] | null
  signal: AbortSignal
  notACode(): void
  exchange(code: string): Promise<void>
}): LoginListener {
  const { page, state, signal } = options
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  promise.catch(reportedWhenAwaited)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  let taken = false

  /** The first code decides. Returns whether the exchange worked; the terminal reports why not. */
  async function take(given: string): Promise<boolean> {
    if (taken) return false
    taken = true
    try {
      await options.exchange(given)
      resolve()
      return true
    } catch (error) {
      reject(error)
      return false
    }
  }

  async function hear(said: URLSearchParams): Promise<'done' | 'refused' | 'failed'> {
    if (said.get('refused') === '1') {
      if (taken) return 'failed'
      taken = true
      reject(new Refusal('cancelled', 'The sign-in was denied in the browser; nothing changed'))
      return 'refused'
    }
    const given = said.get('code') ?? ''
    return code.test(given) && (await take(given)) ? 'done' : 'failed'
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, server) {
      const url = new URL(request.url)
      // Refuse other host names that resolve to this address (DNS rebinding).
      const isHere = request.headers.get('host') === `127.0.0.1:${server.port}` && url.pathname === '/callback'
      if (!isHere || request.method !== 'GET') return new Response('Not found.\n', { status: statusOfClass.not_found })
      if (!same(url.searchParams.get('state') ?? '', state))
        return new Response('This URL does not match the sign-in in progress.\n', { status: statusOfClass.forbidden })
      return sentBack(page, await hear(url.searchParams))
    },
  })
  const stopPaste = options.stdin === null ? () => {} : hearPaste(options.stdin, take, options.notACode)
  return {
    port: server.port!,
    approved: promise,
    async close() {
      stopPaste()
      // The page still waits for the response in flight.
      await server.stop(false)
    },
  }
}

/** Redirects to the page, which shows the result, and removes the code from the URL. */
function sentBack(page: string, how: 'done' | 'refused' | 'failed'): Response {
  return new Response(null, {
    status: 303,
    headers: { location: `${page}#${how}`, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}

/** A bare code, or the URL of the page's link. */
function hearPaste(stdin: Io['stdin'], take: (code: string) => Promise<boolean>, notACode: () => void): () => void {
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

function same(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}
