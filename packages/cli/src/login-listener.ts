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
  /** Its address, to which the browser is sent back. */
  page: string
  state: string
  /** Where a code can be pasted. */
  stdin: Io['stdin'] | null
  signal: AbortSignal
  notACode(): void
  exchange(code: string): Promise<void>
}): LoginListener {
  const { page, state, signal } = options
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // It is waited for only once the page is shown.
  promise.catch(() => {})
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  let taken = false

  /** The first code decides. Whether it was exchanged; if not, the terminal says why. */
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
      reject(new Refusal('cancelled', 'The sign-in was refused on the page: nothing was changed'))
      return 'refused'
    }
    const given = said.get('code') ?? ''
    return code.test(given) && (await take(given)) ? 'done' : 'failed'
  }

  /** Back to the page, which says how it ended; the code leaves the address. */
  function sentBack(how: 'done' | 'refused' | 'failed'): Response {
    return new Response(null, {
      status: 303,
      headers: { location: `${page}#${how}`, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, server) {
      const url = new URL(request.url)
      // A name that was made to lead here is not our address.
      const isHere = request.headers.get('host') === `127.0.0.1:${server.port}` && url.pathname === '/callback'
      if (!isHere || request.method !== 'GET')
        return new Response('Nothing is here.\n', { status: statusOfClass.not_found })
      if (!same(url.searchParams.get('state') ?? '', state))
        return new Response('This is not the address that the page gave.\n', { status: statusOfClass.forbidden })
      return sentBack(await hear(url.searchParams))
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

/** The code alone, or the address of the page's link. */
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
