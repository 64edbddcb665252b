/** One try: from an address to what its receiver answered. */
import { createHmac } from 'node:crypto'
import { webhookAnswerBytesMax } from '@svc/contract'
import { pinnedFetch } from '@svc/git'
import { AddressRefused, judgeWebAddress } from '../egress/web-address.ts'
import { version } from '../version.ts'
import type { Attempt } from './store.ts'

export interface Letter {
  url: string
  secret: string
  deliveryId: string
  eventType: string
  body: string
}

export type Sent = Attempt & { kind: 'taken' | 'refused' | 'gone' }

/** Judged anew at every try: the name may lead elsewhere by now. Whatever goes wrong is an answer and never thrown. */
export async function sendLetter(
  letter: Letter,
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
    const { status, excerpt } = await post(letter, { allowPrivate, signal: AbortSignal.any([signal, late]), now })
    const kind = status >= 200 && status < 300 ? 'taken' : status === 410 ? 'gone' : 'refused'
    const error =
      kind === 'taken'
        ? null
        : status >= 300 && status < 400
          ? `It answered ${status}; redirects are not followed.`
          : `It answered ${status}.`
    return { kind, http_status: status, error, answer: excerpt === '' ? null : excerpt, ms: elapsed() }
  } catch (error) {
    if (late.aborted) return failed(`It did not answer within ${timeoutMs / 1000} s.`, elapsed())
    return failed(reasonOf(error), elapsed())
  }
}

/** Over `<seconds>.<body>`, so that a letter that somebody kept can be told by its age. */
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
    ECONNREFUSED: 'Nothing listens there (ECONNREFUSED).',
    ECONNRESET: 'It hung up (ECONNRESET).',
    ENOTFOUND: 'Its name could not be resolved (ENOTFOUND).',
    EHOSTUNREACH: 'There is no way to its address (EHOSTUNREACH).',
  }
  return known[code ?? ''] ?? `It could not be reached: ${code ?? message}.`.slice(0, 300)
}

async function post(
  letter: Letter,
  { allowPrivate, signal, now }: { allowPrivate: boolean; signal: AbortSignal; now: Date },
): Promise<{ status: number; excerpt: string }> {
  const seconds = Math.floor(now.getTime() / 1000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': `svc-webhook/${version}`,
    'x-svc-event': letter.eventType,
    'x-svc-delivery': letter.deliveryId,
    'x-svc-timestamp': String(seconds),
    'x-svc-signature': signatureOf(letter.secret, seconds, letter.body),
  }
  const init = { method: 'POST', signal, headers, body: letter.body }
  const url = new URL(letter.url)
  const answer = await pinnedFetch(url, init, { pin: await judgeWebAddress(url, { allowPrivate }) })
  return { status: answer.status, excerpt: await beginningOf(answer) }
}

/** The status is the answer; what follows is only for a person to read. */
async function beginningOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop early hangs up.
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= webhookAnswerBytesMax) break
  }
  const text = Buffer.concat(chunks).subarray(0, webhookAnswerBytesMax).toString('utf8')
  return text.replaceAll('\0', '').replace(/\uFFFD+$/, '')
}
