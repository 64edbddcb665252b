/** The client of the control API of a session's daemon. The daemon is not trusted: every reply is bounded and validated. */
import {
  type AttachmentBody,
  type ClaimReply,
  type DaemonHealth,
  type EnvBody,
  type EnvReply,
  type PromptBody,
  type PromptReply,
  type RefreshBody,
  type RefreshReply,
  signUserContext,
  userContextHeader,
  userContextKey,
} from '@svc/contract'
import { z } from 'zod'
import { bounded } from '../http/bodies/streams.ts'
import { storableText as text } from './storable.ts'

const replyBytesMax = 1024 * 1024
const controlMs = 30_000
const followMs = 10 * 60_000
const healthMs = 2_000
/** The daemon fetches objects and writes files. */
const recoverMs = 150_000
/** The daemon fetches objects and restarts the agent runtime, which may take a minute. Prompts wait meanwhile. */
const refreshMs = 2 * 60_000

/** At most a month; no boot lasts longer. */
const millis = z.number().min(0).max(2_678_400_000)

const starts = z.number().int().min(0).max(1_000_000)

const health = z.object({
  daemon: z.literal('ok'),
  status: z.enum(['booting', 'ready', 'failed', 'warm']),
  runtime: z.enum(['starting', 'ready', 'stopped', 'failed']),
  repository: text(2048),
  branch: text(512),
  commit: text(64).nullable(),
  generation: z.number().int(),
  uptime_ms: millis,
  boot: z
    .array(z.object({ step: text(50), at_ms: millis, ms: millis.nullable(), failed: z.literal(true).optional() }))
    .max(50),
  error: text(20_000).nullable(),
  runtime_session_id: text(200).nullable().default(null),
  runtime_starts: starts.default(1),
  runtime_asleep_ms: z.number().int().min(0).nullable().default(null),
})
const promptReply = z.object({
  ok: z.literal(true),
  runtime_session_id: text(200),
  runtime_starts: starts.optional(),
  was_taken: z.boolean().optional(),
})
const claimReply = z.object({ ok: z.literal(true), runtime_session_id: text(200).nullable() })
const envReply = z.object({ ok: z.literal(true), changed: z.array(text(1000)).max(10_000) })
const refreshReply = z.object({ ok: z.literal(true), before: text(64), after: text(64) })
const recoverReply = z.object({ ok: z.literal(true), files: z.number().int().min(0) })
const refusal = z.object({ error: text(20_000), code: text(100) })

export interface DaemonAddress {
  socket: string
  sandboxKey: string
  sessionId: string
  generation: number
  /** Resolves when the server is ready for what the runtime does once it is awake. */
  beforeUse?: () => Promise<void>
  /** Aborts when a server that stops waits no longer for this daemon. */
  givenUp?: AbortSignal
}

/** The daemon answers these without its runtime: its own routes except for the terminal, and other programs' ports. */
const wakesNothing = /^\/(?:proxy\/|svc\/(?!terminal))/

/** Call before a request with that path, which may wake the runtime. */
export async function prepareUse({ beforeUse }: DaemonAddress, path: string): Promise<void> {
  if (!wakesNothing.test(path)) await beforeUse?.()
}

/** `unavailable`: no valid reply, so the outcome is unknown. `refused`: the daemon rejected the request. */
export type DaemonOutcome<T> =
  | { kind: 'ok'; value: T }
  | { kind: 'refused'; code: string; reason: string }
  | { kind: 'unavailable'; reason: string }

export async function readHealth(
  socket: string,
  { signal = null, timeoutMs = healthMs }: { signal?: AbortSignal | null; timeoutMs?: number } = {},
): Promise<DaemonOutcome<Omit<DaemonHealth, 'boot'> & z.infer<typeof health>>> {
  const expected = { timeoutMs, bytesMax: replyBytesMax, schema: health as never }
  return exchange(socket, '/svc/health', { method: 'GET', signal }, expected)
}

const ok = z.object({ ok: z.literal(true) })

/** A POST to the control API of the daemon. */
export function command<Body extends object, Reply>(
  path: string,
  timeoutMs: number,
  reply: z.ZodType<Reply>,
  { wakes = false, bytesMax = replyBytesMax } = {},
) {
  return async (
    daemon: Pick<DaemonAddress, 'socket' | 'sandboxKey' | 'beforeUse' | 'givenUp'>,
    body: Body,
    signal?: AbortSignal,
  ): Promise<DaemonOutcome<Reply>> => {
    if (wakes) await daemon.beforeUse?.()
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.sandboxKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: untilGivenUp(daemon, signal),
    }
    return exchange(daemon.socket, path, init, { timeoutMs, bytesMax, schema: reply })
  }
}

export const sendPrompt = command<PromptBody, PromptReply>('/svc/prompt', controlMs, promptReply, { wakes: true })
export const sendAttachment = command<AttachmentBody, { ok: true }>('/svc/attachment', controlMs, ok)
export const abortRun = command<Record<string, never>, { ok: true }>('/svc/abort', controlMs, ok, { wakes: true })
/** Moves a warm sandbox to that commit of the default branch. The first time it clones. */
export const followBase = command<{ commit: string; credential: string }, { ok: true }>('/svc/follow', followMs, ok)
type ClaimBody = { env: Record<string, string>; commit: string }
export const claimSandbox = command<ClaimBody, ClaimReply>('/svc/claim', controlMs, claimReply)
export const sendEnv = command<EnvBody, EnvReply>('/svc/env', controlMs, envReply)
export const refreshSandbox = command<RefreshBody, RefreshReply>('/svc/refresh', refreshMs, refreshReply, {
  wakes: true,
})
export const recoverInSandbox = command<Record<string, never>, { ok: true; files: number }>(
  '/svc/recover',
  recoverMs,
  recoverReply,
)

/** Sends a request to the agent runtime behind the daemon, as `userId`. The caller limits the time, as the reply may be a stream. */
export async function requestRuntime(
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
  await prepareUse(daemon, request.path)
  const context = await signedUserContext(daemon, request)
  return fetch(`http://daemon${request.path}`, {
    unix: daemon.socket,
    method: request.method,
    headers: { ...request.headers, [userContextHeader]: context, connection: 'close' },
    keepalive: false,
    body: request.body ?? null,
    signal: untilGivenUp(daemon, request.signal),
    redirect: 'manual',
    // The body passes through compressed, as its content-encoding header says.
    decompress: false,
    // The events of a frozen runtime pause for as long as it is idle.
    timeout: false,
  } as RequestInit)
}

export const untilGivenUp = ({ givenUp }: Pick<DaemonAddress, 'givenUp'>, signal?: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, givenUp].filter((each) => each !== undefined))

/** Tells the daemon who sends a request. */
export async function signedUserContext(
  daemon: DaemonAddress,
  { userId, role, method, path }: { userId: string; role: string; method: string; path: string },
): Promise<string> {
  const issuedAt = Math.floor(Date.now() / 1000)
  return signUserContext(await userContextKey(daemon.sandboxKey), {
    user_id: userId,
    session_id: daemon.sessionId,
    generation: daemon.generation,
    role,
    method,
    path,
    iat: issuedAt,
    exp: issuedAt + 60,
    jti: crypto.randomUUID(),
  })
}

async function exchange<T>(
  socket: string,
  path: string,
  init: RequestInit,
  { timeoutMs, bytesMax, schema }: { timeoutMs: number; bytesMax: number; schema: z.ZodType<T> },
): Promise<DaemonOutcome<T>> {
  let response: Response
  let body: unknown
  try {
    response = await fetch(`http://daemon${path}`, {
      ...init,
      // A connection that stays open wakes the daemon every second.
      headers: { ...(init.headers as Record<string, string> | undefined), connection: 'close' },
      keepalive: false,
      unix: socket,
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(init.signal ? [init.signal] : [])]),
      redirect: 'manual',
    })
    body = JSON.parse(await boundedText(response, bytesMax))
  } catch (error) {
    return { kind: 'unavailable', reason: error instanceof Error ? error.message : String(error) }
  }
  if (response.ok) {
    const parsed = schema.safeParse(body)
    return parsed.success
      ? { kind: 'ok', value: parsed.data }
      : { kind: 'unavailable', reason: `The daemon's reply to ${path} has an unknown shape.` }
  }
  return refusalOf(path, response, body)
}

export function refusalOf(path: string, { status }: Response, body: unknown): DaemonOutcome<never> {
  const parsed = refusal.safeParse(body)
  return parsed.success
    ? { kind: 'refused', code: parsed.data.code, reason: parsed.data.error }
    : { kind: 'unavailable', reason: `The daemon answered ${path} with status ${status}.` }
}

export async function boundedText(response: Response, bytesMax: number): Promise<string> {
  const chunks = bounded(response.body, bytesMax, `The reply is larger than ${bytesMax} bytes.`)
  return Buffer.concat(await Array.fromAsync(chunks)).toString('utf8')
}
