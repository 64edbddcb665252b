/** One try: from an address to what its receiver answered. */
import { createHmac } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { webhookAnswerBytesMax } from '@svc/contract'
import { judgeWebUrl, pinnedLookup } from '@svc/git'
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
  const verdict = await judgeWebUrl(letter.url, { allowPrivate })
  if (verdict.kind === 'refused') return failed(verdict.reason, 0)
  const began = performance.now()
  const elapsed = () => Math.round(performance.now() - began)
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const { status, excerpt } = await post(verdict, letter, { signal: AbortSignal.any([signal, late]), now })
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
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}

function failed(error: string, ms: number): Sent {
  return { kind: 'refused', http_status: null, error, answer: null, ms }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  const known: Record<string, string> = {
    ECONNREFUSED: 'Nothing listens there (ECONNREFUSED).',
    ECONNRESET: 'It hung up (ECONNRESET).',
    ENOTFOUND: 'Its name could not be resolved (ENOTFOUND).',
    EHOSTUNREACH: 'There is no way to its address (EHOSTUNREACH).',
  }
  return known[code ?? ''] ?? `It could not be reached: ${code ?? message}.`.slice(0, 300)
}

function post(
  to: { url: string; pin: string[] },
  letter: Letter,
  { signal, now }: { signal: AbortSignal; now: Date },
): Promise<{ status: number; excerpt: string }> {
  const body = Buffer.from(letter.body)
  const seconds = Math.floor(now.getTime() / 1000)
  const options: https.RequestOptions = {
    method: 'POST',
    agent: false,
    signal,
    headers: {
      'content-type': 'application/json',
      'content-length': body.length,
      'user-agent': `svc-webhook/${version}`,
      'accept-encoding': 'identity',
      'x-svc-event': letter.eventType,
      'x-svc-delivery': letter.deliveryId,
      'x-svc-timestamp': String(seconds),
      'x-svc-signature': signatureOf(letter.secret, seconds, letter.body),
    },
    ...(to.pin.length > 0 ? { lookup: pinnedLookup(to.pin) } : {}),
  }
  return new Promise((resolve, reject) => {
    const client = to.url.startsWith('https:') ? https : http
    const request = client.request(to.url, options, (response) => {
      const status = response.statusCode ?? 502
      const chunks: Buffer[] = []
      let bytes = 0
      const end = () => {
        const text = Buffer.concat(chunks).subarray(0, webhookAnswerBytesMax).toString('utf8')
        resolve({ status, excerpt: text.replaceAll('\0', '').replace(/\uFFFD+$/, '') })
        request.destroy()
      }
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        // The status is the answer; what follows is only for a person to read.
        if (bytes >= webhookAnswerBytesMax) end()
      })
      response.on('end', end)
      response.on('error', reject)
      response.on('aborted', () => reject(Object.assign(new Error('cut'), { code: 'ECONNRESET' })))
    })
    request.on('error', reject)
    request.end(body)
  })
}
