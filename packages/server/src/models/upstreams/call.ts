/** Calls an upstream. If it rejects a key or rate-limits it, the next key and then the next upstream are tried. */
import { ServiceError } from '@svc/contract'
import type { UpstreamConfig } from '../../config/models.ts'
import type { Deps } from '../../deps.ts'
import type { Shape, Upstreams } from './upstreams.ts'

type CallDeps = Pick<Deps, 'log' | 'redaction'>

export interface UpstreamCall {
  shape: Shape
  model: string
  /** Relative to the base URL. */
  path: string
  body: object
  /** Version headers of the client; no other header of the sandbox is forwarded. */
  headers: Record<string, string>
  signal: AbortSignal
}

type Outcome =
  | { kind: 'answered'; response: Response }
  | { kind: 'rejected-key'; status: number }
  | { kind: 'rate-limited'; response: Response }
  | { kind: 'unavailable'; cause: unknown }

export async function callUpstreams(deps: CallDeps, upstreams: Upstreams, call: UpstreamCall): Promise<Response> {
  const candidates = upstreams.for(deps, call.shape, call.model)
  if (candidates.length === 0)
    throw new ServiceError(
      'not_found',
      `No upstream of this server offers the model ${JSON.stringify(call.model)} in this API format.`,
      {
        hint: 'GET /v1/llm/models lists the available models.',
      },
    )
  let best: Outcome = { kind: 'unavailable', cause: null }
  for (const upstream of candidates) {
    for (const key of upstreams.keysByReadiness(upstream, Date.now())) {
      const outcome = await callOne(upstream, key, call)
      if (outcome.kind !== 'unavailable')
        upstreams.recordKey(key, outcome.kind === 'rejected-key' ? outcome.status : null)
      if (outcome.kind === 'answered' && best.kind === 'rate-limited') await best.response.body?.cancel()
      if (outcome.kind === 'answered') return outcome.response
      best = await moreUseful(best, outcome)
      if (outcome.kind === 'unavailable') break
      upstreams.rest(key, Date.now(), outcome.kind === 'rate-limited' ? retryAfterMs(outcome.response) : undefined)
      const what =
        outcome.kind === 'rate-limited' ? 'model upstream rate-limited a key' : 'model upstream rejected a key'
      deps.log.warn({ upstream: upstream.name, model: call.model }, what)
    }
  }
  return lastResort(best)
}

const usefulness: Record<Outcome['kind'], number> = {
  answered: 3,
  'rate-limited': 2,
  'rejected-key': 1,
  unavailable: 0,
}

/** Prefers the more useful error: a rate limit tells the client to retry, a rejected key does not. */
async function moreUseful(one: Outcome, other: Outcome): Promise<Outcome> {
  const [kept, left] = usefulness[other.kind] >= usefulness[one.kind] ? [other, one] : [one, other]
  if (left.kind === 'rate-limited') await left.response.body?.cancel()
  return kept
}

const ownerHint = 'An owner of this server can fix it under Settings, Model.'

/** The client gets the upstream's own rate-limit response. */
function lastResort(last: Outcome): Response {
  switch (last.kind) {
    case 'answered':
    case 'rate-limited':
      return last.response
    case 'rejected-key':
      throw new ServiceError('model_upstream_failed', 'The model upstream rejected the key of this server.', {
        hint: ownerHint,
      })
    case 'unavailable':
      throw new ServiceError('model_upstream_failed', 'The model upstream is unavailable.', {
        hint: ownerHint,
        cause: last.cause,
      })
    default:
      return last satisfies never
  }
}

async function callOne(upstream: UpstreamConfig, key: string | null, call: UpstreamCall): Promise<Outcome> {
  let response: Response
  try {
    response = await fetch(upstream.url + call.path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        ...call.headers,
        ...credential(upstream, key),
      },
      body: JSON.stringify(call.body),
      signal: call.signal,
      redirect: 'manual',
    })
  } catch (error) {
    if (call.signal.aborted) throw error
    return { kind: 'unavailable', cause: error }
  }
  if (response.status === 401 || response.status === 403) {
    await response.body?.cancel()
    return { kind: 'rejected-key', status: response.status }
  }
  if (response.status === 429) return { kind: 'rate-limited', response }
  // An API error goes to the client, which can parse it. A proxy's page or a redirect does not.
  const isJson = response.headers.get('content-type')?.includes('json') === true
  if (!response.ok && (response.status < 400 || !isJson)) {
    await response.body?.cancel()
    throw new ServiceError('model_upstream_failed', `The model upstream returned status ${response.status}.`, {
      hint: ownerHint,
    })
  }
  return { kind: 'answered', response }
}

export function credential(upstream: Pick<UpstreamConfig, 'shape'>, key: string | null): Record<string, string> {
  if (key === null) return {}
  return upstream.shape === 'anthropic' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }
}

/** Undefined without the header, and at most an hour. */
function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}
