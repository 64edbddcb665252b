/** What the server says to the daemon of a sandbox that was sent its files, to run an app or a check. It is not trusted: everything it answers is bounded and checked. */
import { request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AppSpec, AppWatchBody } from '@svc/contract'
import { z } from 'zod'

export interface AppDaemon {
  socket: string
  key: string
}

/** The daemon answered and refused, or gave no answer that is one. */
export class AppDaemonError extends Error {}

const replyBytesMax = 2 * 1024 * 1024
const sendMs = 10 * 60_000
/** Beyond what it was asked to wait for. */
const graceMs = 10_000

/** PostgreSQL keeps no NUL and no half of a surrogate pair. */
const text = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .transform((said) => said.toWellFormed().replaceAll('\0', '\u{fffd}'))

const watchReply = z.object({
  state: z.enum(['waiting', 'unpacking', 'building', 'starting', 'ready', 'restarting', 'failed', 'done']),
  error: text(20_000).nullable(),
  starts: z.number().int().min(0).max(1_000_000),
  exit_code: z.number().int().min(-1000).max(1000).nullable().default(null),
  lines: z
    .array(
      z.object({
        seq: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
        // Whatever its clock says, it is a time that a row can hold.
        at: z.number().min(0).max(8_640_000_000_000),
        stream: z.enum(['build', 'run', 'svc']),
        text: text(10_000),
      }),
    )
    .max(20_000),
})
export type WatchReply = z.infer<typeof watchReply>

/** The files go as they come; nothing of them is kept here. */
export async function sendApp(
  daemon: AppDaemon,
  spec: AppSpec,
  files: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(sendMs)])
  const answer = ask(daemon, '/svc/app', limited)
  const body = async function* () {
    yield `${JSON.stringify(spec)}\n`
    yield* Readable.fromWeb(files as never) as AsyncIterable<Uint8Array>
  }
  // Either end may break first, and the refusal says more than the broken pipe.
  const sent = pipeline(Readable.from(body()), answer.out, { signal: limited }).catch((error: unknown) => error)
  const reply = await answer.reply.catch(async (error: unknown) => {
    const cause = await sent
    throw cause instanceof Error && !isBrokenPipe(cause) ? cause : error
  })
  const cause = await sent
  if (reply.status !== 200) throw new AppDaemonError(reasonIn(reply.body))
  if (cause instanceof Error) throw cause
}

export async function watchApp(daemon: AppDaemon, body: AppWatchBody, signal: AbortSignal): Promise<WatchReply> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(body.wait_ms + graceMs)])
  const { out, reply } = ask(daemon, '/svc/app/watch', limited)
  out.end(JSON.stringify(body))
  const { status, body: text } = await reply
  if (status !== 200) throw new AppDaemonError(reasonIn(text))
  return watchReply.parse(JSON.parse(text))
}

function ask(daemon: AppDaemon, path: string, signal: AbortSignal) {
  const out = httpRequest({
    socketPath: daemon.socket,
    method: 'POST',
    path,
    headers: { host: 'sandbox', authorization: `Bearer ${daemon.key}` },
    agent: false,
    signal,
  })
  const reply = new Promise<{ status: number; body: string }>((resolve, reject) => {
    out.on('error', reject)
    out.on('response', (answer) => {
      let body = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => {
        body += chunk
        if (body.length > replyBytesMax) answer.destroy(new AppDaemonError('The daemon of the sandbox said too much.'))
      })
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
  })
  // It is awaited below; should sending fail first, this is still no unhandled one.
  reply.catch(() => {})
  return { out, reply }
}

/** It does not answer now, or not in a way that can be read; it may when it is asked again. */
export const isAway = (error: unknown) =>
  error instanceof Error &&
  (['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '') ||
    ['TimeoutError', 'AbortError', 'ZodError', 'SyntaxError'].includes(error.name))

const isBrokenPipe = (error: Error) =>
  ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '')

function reasonIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    if (typeof error === 'string') return error.slice(0, 2000)
  } catch {
    // Said below.
  }
  return 'The daemon of the sandbox refused.'
}
