/** The server's side of the daemon's control surface. A daemon is not trusted: everything it says is bounded in size and time and checked. */
import {
  type ClaimReply,
  type DaemonHealth,
  type EnvBody,
  type EnvReply,
  type PromptReply,
  signUserContext,
  userContextHeader,
  userContextKey,
} from '@svc/contract'
import { z } from 'zod'

const replyBytesMax = 1024 * 1024
const controlMs = 30_000
const followMs = 10 * 60_000
const healthMs = 2_000
/** It brings objects and writes files. */
const recoverMs = 150_000

/** PostgreSQL keeps no NUL and no half of a surrogate pair, and what a daemon says may end up in a row. */
const text = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .transform((said) => said.toWellFormed().replaceAll('\0', '\u{fffd}'))
/** A month: what lies outside makes no date that a start could have had. */
const millis = z.number().min(0).max(2_678_400_000)

const health = z.object({
  daemon: z.literal('ok'),
  status: z.enum(['booting', 'ready', 'failed', 'warm']),
  runtime: z.enum(['starting', 'ready', 'stopped', 'failed']),
  repository: text(2048),
  branch: text(512),
  commit: text(64).nullable(),
  generation: z.number().int(),
  uptime_ms: millis,
  boot: z.array(z.object({ step: text(50), at_ms: millis, ms: millis.nullable() })).max(50),
  error: text(20_000).nullable(),
  runtime_session_id: text(200).nullable().default(null),
  runtime_starts: z.number().int().min(0).max(1_000_000).default(1),
})
const promptReply = z.object({ ok: z.literal(true), runtime_session_id: text(200) })
const claimReply = z.object({ ok: z.literal(true), runtime_session_id: text(200).nullable() })
const envReply = z.object({ ok: z.literal(true), changed: z.array(text(1000)).max(10_000) })
const recoverReply = z.object({ ok: z.literal(true), files: z.number().int().min(0) })
const refusal = z.object({ error: text(20_000), code: text(100) })

export interface DaemonAddress {
  socket: string
  sandboxKey: string
  sessionId: string
  generation: number
}

/** `away`: no answer, so nothing is known. `refused`: the daemon answered that it will not. */
export type DaemonOutcome<T> =
  | { kind: 'ok'; value: T }
  | { kind: 'refused'; code: string; reason: string }
  | { kind: 'away'; reason: string }

export async function readHealth(
  socket: string,
): Promise<DaemonOutcome<Omit<DaemonHealth, 'boot'> & z.infer<typeof health>>> {
  return exchange(socket, '/svc/health', { method: 'GET' }, healthMs, health as never)
}

export async function sendPrompt(
  daemon: DaemonAddress,
  body: { text: string; prompt_id: string },
): Promise<DaemonOutcome<PromptReply>> {
  return exchange(daemon.socket, '/svc/prompt', control(daemon, body), controlMs, promptReply)
}

export async function abortRun(daemon: DaemonAddress): Promise<DaemonOutcome<{ ok: true }>> {
  return exchange(daemon.socket, '/svc/abort', control(daemon, {}), controlMs, z.object({ ok: z.literal(true) }))
}

/** Brings a sandbox that waits for a session to that commit of the default branch. May be a whole clone. */
export async function followBase(
  daemon: Pick<DaemonAddress, 'socket' | 'sandboxKey'>,
  body: { commit: string; credential: string },
  signal: AbortSignal,
): Promise<DaemonOutcome<{ ok: true }>> {
  const init = { ...control(daemon, body), signal }
  return exchange(daemon.socket, '/svc/follow', init, followMs, z.object({ ok: z.literal(true) }))
}

export async function claimSandbox(
  daemon: DaemonAddress,
  body: { env: Record<string, string>; commit: string },
): Promise<DaemonOutcome<ClaimReply>> {
  return exchange(daemon.socket, '/svc/claim', control(daemon, body), controlMs, claimReply)
}

export async function sendEnv(daemon: DaemonAddress, body: EnvBody): Promise<DaemonOutcome<EnvReply>> {
  return exchange(daemon.socket, '/svc/env', control(daemon, body), controlMs, envReply)
}

export async function recoverInSandbox(daemon: DaemonAddress): Promise<DaemonOutcome<{ ok: true; files: number }>> {
  return exchange(daemon.socket, '/svc/recover', control(daemon, {}), recoverMs, recoverReply)
}

function control(daemon: Pick<DaemonAddress, 'sandboxKey'>, body: object): RequestInit {
  return {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.sandboxKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

/** A request to the runtime behind the daemon, as `user`. The answer may be a stream, so only its start is under a time limit. */
export async function askRuntime(
  daemon: DaemonAddress,
  request: {
    method: string
    path: string
    userId: string
    role: string
    headers?: Record<string, string>
    body?: BodyInit | null
    signal: AbortSignal
  },
): Promise<Response> {
  const issuedAt = Math.floor(Date.now() / 1000)
  const context = await signUserContext(await userContextKey(daemon.sandboxKey), {
    user_id: request.userId,
    session_id: daemon.sessionId,
    generation: daemon.generation,
    role: request.role,
    method: request.method,
    path: request.path,
    iat: issuedAt,
    exp: issuedAt + 60,
    jti: crypto.randomUUID(),
  })
  return fetch(`http://daemon${request.path}`, {
    unix: daemon.socket,
    method: request.method,
    headers: { ...request.headers, [userContextHeader]: context },
    body: request.body ?? null,
    signal: request.signal,
    redirect: 'manual',
    // The body goes on as it came, beside the header that says how it is packed.
    decompress: false,
  } as RequestInit)
}

async function exchange<T>(
  socket: string,
  path: string,
  init: RequestInit,
  timeoutMs: number,
  schema: z.ZodType<T>,
): Promise<DaemonOutcome<T>> {
  let response: Response
  let body: unknown
  try {
    response = await fetch(`http://daemon${path}`, {
      ...init,
      unix: socket,
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(init.signal ? [init.signal] : [])]),
      redirect: 'manual',
    })
    body = JSON.parse(await boundedText(response, replyBytesMax))
  } catch (error) {
    return { kind: 'away', reason: error instanceof Error ? error.message : String(error) }
  }
  if (response.ok) {
    const parsed = schema.safeParse(body)
    return parsed.success
      ? { kind: 'ok', value: parsed.data }
      : { kind: 'away', reason: `The daemon's answer to ${path} has an unknown shape.` }
  }
  const parsed = refusal.safeParse(body)
  return parsed.success
    ? { kind: 'refused', code: parsed.data.code, reason: parsed.data.error }
    : { kind: 'away', reason: `The daemon answered ${path} with status ${response.status}.` }
}

export async function boundedText(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`The answer is larger than ${bytesMax} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
