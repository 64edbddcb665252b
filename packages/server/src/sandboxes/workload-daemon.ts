/** The client of the daemon in a workload sandbox. The daemon is not trusted: every reply is bounded and validated. */
import { request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type AppSpec, type AppWatchBody, isRecord, parseJson } from '@svc/contract'
import { z } from 'zod'
import { storableText as text } from './storable.ts'

export interface WorkloadDaemon {
  socket: string
  key: string
}

/** The daemon refused a request or sent an invalid reply. */
export class WorkloadDaemonError extends Error {}

const replyBytesMax = 2 * 1024 * 1024
const sendMs = 10 * 60_000
const graceMs = 10_000

const watchReply = z.object({
  state: z.enum(['waiting', 'unpacking', 'building', 'starting', 'ready', 'restarting', 'failed', 'done']),
  error: text(20_000).nullable(),
  starts: z.number().int().min(0).max(1_000_000),
  exit_code: z.number().int().min(-1000).max(1000).nullable().default(null),
  lines: z
    .array(
      z.object({
        seq: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
        // Within the range of a Date, whatever the clock of the sandbox says.
        at: z.number().min(0).max(8_640_000_000_000),
        stream: z.enum(['build', 'run', 'svc']),
        text: text(10_000),
      }),
    )
    .max(20_000),
})
export type WatchReply = z.infer<typeof watchReply>

/** Streams the files without storing them. */
export async function sendWorkload(
  daemon: WorkloadDaemon,
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
  // A refusal closes the pipe while files are still sent, and explains more than the broken pipe.
  const sent = pipeline(Readable.from(body()), answer.out, { signal: limited }).catch((error: unknown) => error)
  const reply = await answer.reply.catch(async (error: unknown) => {
    const cause = await sent
    throw cause instanceof Error && !isBrokenPipe(cause) ? cause : error
  })
  const cause = await sent
  if (reply.status !== 200) throw new WorkloadDaemonError(reasonIn(reply.body))
  if (cause instanceof Error) throw cause
}

export async function watchWorkload(
  daemon: WorkloadDaemon,
  body: AppWatchBody,
  signal: AbortSignal,
): Promise<WatchReply> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(body.wait_ms + graceMs)])
  const { out, reply } = ask(daemon, '/svc/app/watch', limited)
  out.end(JSON.stringify(body))
  const { status, body: text } = await reply
  if (status !== 200) throw new WorkloadDaemonError(reasonIn(text))
  return watchReply.parse(JSON.parse(text))
}

function ask(daemon: WorkloadDaemon, path: string, signal: AbortSignal) {
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
        if (body.length > replyBytesMax)
          answer.destroy(new WorkloadDaemonError('The reply of the daemon is too large.'))
      })
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
  })
  reply.catch(handledByCaller)
  return { out, reply }
}

/** The daemon does not answer, or not with a valid reply. A retry may succeed. */
export const isUnavailable = (error: unknown) =>
  error instanceof Error &&
  (['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '') ||
    ['TimeoutError', 'AbortError', 'ZodError', 'SyntaxError'].includes(error.name))

const isBrokenPipe = (error: Error) =>
  ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '')

function reasonIn(body: string): string {
  const reply = parseJson(body)
  return isRecord(reply) && typeof reply.error === 'string'
    ? reply.error.slice(0, 2000)
    : 'The daemon of the sandbox refused the request.'
}

/** The caller awaits the same promise; this keeps an earlier failure to send from leaving it unhandled. */
function handledByCaller(): void {}
