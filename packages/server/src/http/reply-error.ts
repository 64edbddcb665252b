import { type ErrorBody, errorStatus, ServiceError } from '@svc/contract'
import { GitError, isDiskFull } from '@svc/git'
import { SandboxError } from '@svc/sandbox'
import { type Actor, boundSession } from '../auth/actor.ts'
import { isDatabaseFull } from '../db/embedded/error.ts'
import { lacksTables, lacksTablesText } from '../db/lacks-tables.ts'
import { isDatabaseUnavailable, isTransactionGivenUp, unavailableText } from '../db/unavailable.ts'
import type { Deps } from '../deps.ts'
import type { Redaction, Redactor } from '../redaction/redaction.ts'

export interface Answered {
  id: string
  method: string
  path: string
  actor?: Actor | null
  /** Whether the actor's role in the project allows writing. */
  mayWrite?: boolean
}

/** The one shape of every error, with the status of its code. An internal error goes to the log, never to the user. */
export function replyError(
  error: unknown,
  request: Answered,
  deps: Pick<Deps, 'config' | 'log' | 'redaction' | 'disk'>,
): Response {
  const { log, redaction } = deps
  const refusal = asRefusal(error, request.method, deps)
  if (isAbortedGit(error))
    log.info({ request_id: request.id, method: request.method, path: request.path }, 'a request ended before its git')
  else if (refusal === null)
    log.error({ err: error, request_id: request.id, method: request.method, path: request.path }, 'a request failed')
  else if (refusal.cause !== undefined)
    log.warn(
      { err: refusal.cause, code: refusal.code, request_id: request.id, method: request.method, path: request.path },
      refusal.message,
    )
  const known =
    refusal ??
    new ServiceError('internal', 'Something went wrong on our side.', {
      hint: `Look for request ${request.id} in the server's log.`,
    })
  return errorResponse(known, request.id, redactorOf(redaction, request))
}

/** A client that is gone cancels its work, which is no error of the server. `signal` is that of its request. */
export function orDisconnected(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted || error instanceof ServiceError) return error
  return new ServiceError('unavailable', 'The client disconnected before its response was ready.', { cause: error })
}

type TextRedactor = Pick<Redactor, 'text'>

/**
 * An error may repeat what the caller sent. An agent's is redacted by its own session's secrets, and a writer's by
 * the secrets of the project in the path. A viewer's is not: it would confirm a guessed secret. Before the caller is
 * known, and through gateways, only tokens of the service are redacted.
 */
function redactorOf(redaction: Redaction, { path, actor, mayWrite }: Answered): TextRedactor {
  if (actor === undefined || actor === null) return redaction.of(null)
  const sessionId = boundSession(actor)
  if (sessionId !== null || mayWrite !== true) return redaction.of(sessionId)
  return redaction.ofProject(/^\/v1\/projects\/([0-9a-f-]{36})(?:\/|$)/.exec(path)?.[1] ?? '')
}

export function errorResponse(error: ServiceError, requestId: string, redactor: TextRedactor | null = null): Response {
  const status = errorStatus(error.code)
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
  }
  const retryAfter = error.detail.retry_after_seconds ?? (status === 503 ? 2 : status === 429 ? 10 : null)
  if (retryAfter !== null) headers['retry-after'] = String(retryAfter)
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="svc"'
  const wholeBody: ErrorBody = error.toBody()
  const body = redactor === null ? wholeBody : { ...(redacted(wholeBody, redactor) as ErrorBody), code: wholeBody.code }
  return new Response(JSON.stringify(body), { status, headers })
}

function redacted(value: unknown, redactor: TextRedactor): unknown {
  if (typeof value === 'string') return redactor.text(value)
  if (Array.isArray(value)) return value.map((each) => redacted(each, redactor))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, redacted(each, redactor)]))
}

/** Only writes have an Idempotency-Key. */
export function inAMoment(method: string): string {
  const again = 'Try again in a moment.'
  return ['GET', 'HEAD', 'OPTIONS'].includes(method)
    ? again
    : `${again} With the same Idempotency-Key, nothing is done twice.`
}

/** The caller is gone, or this server stops and cuts the requests that are left. */
function isAbortedGit(error: unknown): boolean {
  return error instanceof GitError && error.failure === 'aborted'
}

/** The caller may read this of the error. Null: it is a bug of the service. */
export function asRefusal(error: unknown, method: string, deps: Pick<Deps, 'config' | 'disk'>): ServiceError | null {
  if (error instanceof ServiceError) return error
  if (isDatabaseUnavailable(error))
    // It may have failed between two queries, so this makes no claim about what was done.
    return new ServiceError('unavailable', unavailableText(error), {
      hint: inAMoment(method),
      cause: error,
    })
  if (lacksTables(error))
    return new ServiceError('unavailable', `${lacksTablesText}.`, {
      hint: 'Its operator finds what to do in the log and in svc self-host status.',
      cause: error,
    })
  if (isTransactionGivenUp(error))
    return new ServiceError('unavailable', 'The database was too busy to finish this request.', {
      hint: inAMoment(method),
      cause: error,
    })
  if (isDiskFull(error) || isDatabaseFull(error)) return diskFull(error, deps)
  if (error instanceof SandboxError && error.kind === 'unreached')
    return new ServiceError('unavailable', error.message, {
      hint: 'Try again once it answers: what was requested is remembered, and nothing is done twice.',
      cause: error,
    })
  if (isAbortedGit(error))
    return new ServiceError('unavailable', 'The request ended before git had answered it.', {
      hint: inAMoment(method),
    })
  if (error instanceof GitError && error.failure === 'busy')
    return new ServiceError('unavailable', error.message, { cause: error })
  if (error instanceof GitError && error.failure === 'timeout')
    return new ServiceError('unavailable', 'A git process working on this request took too long and was stopped.', {
      hint: inAMoment(method),
      cause: error,
    })
  // By the kernel for lack of memory, or by an operator.
  if (error instanceof GitError && error.failure === 'killed')
    return new ServiceError('unavailable', 'A git process working on this request was killed.', {
      hint: 'Try again in a moment: a change that was in progress is finished first.',
      cause: error,
    })
  return null
}

/** The disk may have filled up between two steps, so this makes no claim about what was done. */
function diskFull(error: unknown, { config, disk }: Pick<Deps, 'config' | 'disk'>): ServiceError {
  const isExternal = isDatabaseFull(error) && config.databaseUrl !== null
  const whose = isExternal ? 'the database' : isDatabaseFull(error) ? 'this server' : disk.server
  return new ServiceError('unavailable', `The disk of ${whose} is full, so this request was not finished.`, {
    hint: `Its operator must free space ${isExternal ? 'there' : 'in the data folder'}. Then look at what was done, and send the rest again.`,
    detail: { retry_after_seconds: 60, waiting_for: 'operator' },
    cause: error,
  })
}
