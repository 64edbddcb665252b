/** Asks an upstream, and where its key is refused or has had enough, the next key and the next upstream. */
import { ServiceError } from '@svc/contract'
import type { UpstreamConfig } from '../config-models.ts'
import type { Deps } from '../deps.ts'
import type { Shape, Upstreams } from './upstreams.ts'

type AskDeps = Pick<Deps, 'log' | 'redaction'>

export interface UpstreamCall {
  shape: Shape
  model: string
  /** Behind the base address. */
  path: string
  body: object
  /** What a client of that shape says about its version; nothing else of the sandbox's goes on. */
  headers: Record<string, string>
  signal: AbortSignal
}

type Outcome =
  | { kind: 'answered'; response: Response }
  | { kind: 'refused-key' }
  | { kind: 'enough'; response: Response }
  | { kind: 'away'; cause: unknown }

export async function askUpstreams(deps: AskDeps, upstreams: Upstreams, call: UpstreamCall): Promise<Response> {
  const candidates = upstreams.for(deps, call.shape, call.model)
  if (candidates.length === 0)
    throw new ServiceError(
      'not_found',
      `No upstream of this server offers the model ${JSON.stringify(call.model)} in this API.`,
      {
        hint: 'GET /v1/llm/models lists what there is.',
      },
    )
  let best: Outcome = { kind: 'away', cause: null }
  for (const upstream of candidates) {
    for (const key of upstreams.keysInTurn(upstream, Date.now())) {
      const outcome = await askOne(upstream, key, call)
      if (outcome.kind === 'answered' && best.kind === 'enough') await best.response.body?.cancel()
      if (outcome.kind === 'answered') return outcome.response
      best = await better(best, outcome)
      if (outcome.kind === 'away') break
      upstreams.rest(key, Date.now(), outcome.kind === 'enough' ? retryAfterMs(outcome.response) : undefined)
      const what =
        outcome.kind === 'enough' ? 'the model upstream has had enough of a key' : 'the model upstream refused our key'
      deps.log.warn({ upstream: upstream.name, model: call.model }, what)
    }
  }
  return lastResort(best)
}

const worth: Record<Outcome['kind'], number> = { answered: 3, enough: 2, 'refused-key': 1, away: 0 }

/** What helps the client more: that it may come again beats that a key of ours is bad. */
async function better(one: Outcome, other: Outcome): Promise<Outcome> {
  const [kept, left] = worth[other.kind] >= worth[one.kind] ? [other, one] : [one, other]
  if (left.kind === 'enough') await left.response.body?.cancel()
  return kept
}

/** Its own word, that it had enough, is the client's to read. */
function lastResort(last: Outcome): Response {
  switch (last.kind) {
    case 'answered':
    case 'enough':
      return last.response
    case 'refused-key':
      throw new ServiceError('model_upstream_failed', 'The model upstream refused the key of this server.', {
        hint: 'An owner of this server checks it: Settings, Model; SVC_LLM_UPSTREAM_KEY; or the keys in SVC_LLM_UPSTREAMS_FILE.',
      })
    case 'away':
      throw new ServiceError('model_upstream_failed', 'The model upstream does not answer.', {
        hint: 'An owner of this server checks it: Settings, Model; SVC_LLM_UPSTREAM_URL; or the URLs in SVC_LLM_UPSTREAMS_FILE.',
        cause: last.cause,
      })
    default:
      return last satisfies never
  }
}

async function askOne(upstream: UpstreamConfig, key: string | null, call: UpstreamCall): Promise<Outcome> {
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
    return { kind: 'away', cause: error }
  }
  if (response.status === 401 || response.status === 403) {
    await response.body?.cancel()
    return { kind: 'refused-key' }
  }
  if (response.status === 429) return { kind: 'enough', response }
  // A refusal of its own is for the agent's client, which knows how to read it. A page of some proxy, or a way elsewhere, is for nobody.
  const isJson = response.headers.get('content-type')?.includes('json') === true
  if (!response.ok && (response.status < 400 || !isJson)) {
    await response.body?.cancel()
    throw new ServiceError('model_upstream_failed', `The model upstream answered with status ${response.status}.`, {
      hint: 'An owner of this server checks it: Settings, Model; SVC_LLM_UPSTREAM_URL; or the URLs in SVC_LLM_UPSTREAMS_FILE.',
    })
  }
  return { kind: 'answered', response }
}

export function credential(upstream: Pick<UpstreamConfig, 'shape'>, key: string | null): Record<string, string> {
  if (key === null) return {}
  return upstream.shape === 'anthropic' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }
}

/** A minute where it says nothing; an hour at most. */
function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}
