/** One delivery attempt: from the address to the receiver's response. */
import { createHmac } from 'node:crypto'
import { webhookAnswerBytesMax } from '@svc/contract'
import { pinnedFetch } from '@svc/git'
import { AddressRefused, resolveWebAddress } from '../egress/web-address.ts'
import { version } from '../version.ts'
import type { Attempt } from './store.ts'

export interface OutgoingDelivery {
  url: string
  secret: string
  deliveryId: string
  eventType: string
  body: string
}

export type Sent = Attempt & { kind: 'taken' | 'refused' | 'gone' }

/** The address is checked at every try, as its name may resolve elsewhere by now. Every failure is returned, never thrown. */
export async function attemptDelivery(
  delivery: OutgoingDelivery,
  {
    allowPrivate,
    timeoutMs,
    signal,
    now,
  }: { allowPrivate: boolean; timeoutMs: number; signal: AbortSignal; now: Date },
): Promise<Sent> {
  const began = performance.now()
  const elapsed = () => Math.round(performance.now() - began)
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const { status, excerpt } = await post(delivery, { allowPrivate, signal: AbortSignal.any([signal, late]), now })
    const kind = status >= 200 && status < 300 ? 'taken' : status === 410 ? 'gone' : 'refused'
    const error =
      kind === 'taken'
        ? null
        : status >= 300 && status < 400
          ? `The receiver answered ${status}; redirects are not followed.`
          : `The receiver answered ${status}.`
    return { kind, http_status: status, error, answer: excerpt === '' ? null : excerpt, ms: elapsed() }
  } catch (error) {
    if (late.aborted) return failed(`The receiver did not answer within ${timeoutMs / 1000} s.`, elapsed())
    return failed(reasonOf(error), elapsed())
  }
}

/** Over `<seconds>.<body>`, so that a receiver can detect a replayed delivery by its age. */
function signatureOf(secret: string, seconds: number, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}

function failed(error: string, ms: number): Sent {
  return { kind: 'refused', http_status: null, error, answer: null, ms }
}

function reasonOf(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  const known: Record<string, string> = {
    ECONNREFUSED: 'The receiver refused the connection (ECONNREFUSED).',
    ECONNRESET: 'The receiver closed the connection (ECONNRESET).',
    ENOTFOUND: "The receiver's name does not resolve (ENOTFOUND).",
    EHOSTUNREACH: "The receiver's address is unreachable (EHOSTUNREACH).",
  }
  return known[code ?? ''] ?? `The receiver is unreachable: ${code ?? message}.`.slice(0, 300)
}

async function post(
  delivery: OutgoingDelivery,
  { allowPrivate, signal, now }: { allowPrivate: boolean; signal: AbortSignal; now: Date },
): Promise<{ status: number; excerpt: string }> {
  const seconds = Math.floor(now.getTime() / 1000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': `svc-webhook/${version}`,
    'x-svc-event': delivery.eventType,
    'x-svc-delivery': delivery.deliveryId,
    'x-svc-timestamp': String(seconds),
    'x-svc-signature': signatureOf(delivery.secret, seconds, delivery.body),
  }
  const init = { method: 'POST', signal, headers, body: delivery.body }
  const url = new URL(delivery.url)
  const answer = await pinnedFetch(url, init, { pin: await resolveWebAddress(url, { allowPrivate }) })
  return { status: answer.status, excerpt: await beginningOf(answer) }
}

/** The status decides; the rest is only for people to read. */
async function beginningOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop early closes the connection.
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= webhookAnswerBytesMax) break
  }
  const text = Buffer.concat(chunks).subarray(0, webhookAnswerBytesMax).toString('utf8')
  return text.replaceAll('\0', '').replace(/\uFFFD+$/, '')
}
