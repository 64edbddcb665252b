import { invariant, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'

/** Sends a completion to the operator's upstream and streams back what it answers, byte for byte. */
export async function askUpstream(
  deps: Pick<Deps, 'config' | 'log'>,
  body: object,
  signal: AbortSignal,
): Promise<Response> {
  const { model } = deps.config
  invariant(model !== null, 'the upstream is asked only when there is one')
  let response: Response
  try {
    response = await fetch(`${model.url}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        ...(model.key === null ? {} : { authorization: `Bearer ${model.key}` }),
      },
      body: JSON.stringify(body),
      signal,
      redirect: 'manual',
    })
  } catch (error) {
    throw new ServiceError('model_upstream_failed', 'The model upstream does not answer.', {
      hint: 'Check SVC_LLM_UPSTREAM_URL.',
      cause: error,
    })
  }
  if (response.status === 401 || response.status === 403) {
    deps.log.warn({ status: response.status }, 'the model upstream refused our key')
    await response.body?.cancel()
    throw new ServiceError('model_upstream_failed', 'The model upstream refused the key of this server.', {
      hint: 'Check SVC_LLM_UPSTREAM_KEY.',
    })
  }
  // A refusal of its own is for the agent's client, which knows how to read it. A page of some proxy, or a way elsewhere, is for nobody.
  const isJson = response.headers.get('content-type')?.includes('json') === true
  if (!response.ok && (response.status < 400 || !isJson)) {
    await response.body?.cancel()
    throw new ServiceError('model_upstream_failed', `The model upstream answered with status ${response.status}.`, {
      hint: 'Check SVC_LLM_UPSTREAM_URL.',
    })
  }
  return new Response(response.body, {
    status: response.status,
    headers: {
      'content-type': response.headers.get('content-type') ?? 'application/json',
      'cache-control': 'no-store',
    },
  })
}
