/** Sends a request, and sends it again where a second attempt cannot do anything twice. */
import { fetchProgressText, readFetchProgress } from '@svc/contract/schemas/fetch-progress'
import type { ClientOptions } from './client.ts'
import { TransportError } from './errors.ts'

const timeoutMs = 120_000
const inProgressTries = 40
const inProgressPauseMs = 250
/** At two seconds each and the server's own wait: longer than the ten minutes the server gives a fetch. */
const fetchingTries = 600

export class Sender {
  readonly #baseUrl: string
  readonly #signal: AbortSignal | undefined
  readonly #sleep: (ms: number) => Promise<void>

  constructor({ baseUrl, signal, sleep }: Pick<ClientOptions, 'baseUrl' | 'signal' | 'sleep'>) {
    this.#baseUrl = baseUrl
    this.#signal = signal
    this.#sleep = sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)))
  }

  async send(request: Request, onProgress: (progress: string) => void): Promise<Response> {
    let response: Response
    try {
      response = await this.#attempts(request, onProgress)
    } catch (error) {
      if (this.#signal?.aborted || request.signal.aborted) throw error
      throw this.#failure(error)
    }
    if (response.status >= 300 && response.status < 400)
      throw new TransportError('redirected', `${this.#baseUrl} answers with a redirect`, {
        address: this.#baseUrl,
        location: response.headers.get('location'),
      })
    return response
  }

  async #attempts(request: Request, onProgress: (progress: string) => void): Promise<Response> {
    const once = () => this.#once(request)
    const repeatable = isRepeatable(request)
    let response = await once().catch((error: unknown) => {
      if (repeatable && isReset(error)) return once()
      throw error
    })
    for (let i = 0; i < inProgressTries && (await isInProgress(request, response)); i++) {
      await this.#sleep(inProgressPauseMs)
      response = await once()
    }
    for (let i = 0; i < fetchingTries && repeatable && response.status === 503; i++) {
      const fetching = await fetchingIn(response)
      if (fetching === null) break
      onProgress(fetching.text)
      await this.#sleep(fetching.retryMs)
      response = await once()
    }
    return response
  }

  #once(request: Request): Promise<Response> {
    const streamed = request.headers.get('accept') === 'text/event-stream'
    const signals = [
      request.signal,
      ...(this.#signal === undefined ? [] : [this.#signal]),
      ...(streamed ? [] : [AbortSignal.timeout(timeoutMs)]),
    ]
    return fetch(request.clone(), {
      signal: AbortSignal.any(signals),
      // A redirect could carry the token to another origin.
      redirect: 'manual',
      // A quiet event stream is not a dead one.
      ...(streamed ? { timeout: false } : {}),
    } as RequestInit)
  }

  #failure(error: unknown): TransportError {
    const address = this.#baseUrl
    const options = { address, cause: error }
    if ((error as Error).name === 'TimeoutError')
      return new TransportError('timed_out', `${address} did not answer within ${timeoutMs / 1000} seconds`, options)
    return new TransportError('unreachable', `${address} cannot be reached`, options)
  }
}

/** The one guard: a request that changes something is sent again only under an idempotency key. */
function isRepeatable(request: Request): boolean {
  return request.method === 'GET' || request.headers.has('idempotency-key')
}

/** The connection broke after it was made, so the server may or may not have handled the request. */
function isReset(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return code === 'ECONNRESET' || code === 'ConnectionClosed' || code === 'EPIPE' || code === 'UND_ERR_SOCKET'
}

/** The server still handles the first attempt: its answer will be the answer to this one. */
async function isInProgress(request: Request, response: Response): Promise<boolean> {
  if (response.status !== 409 || !request.headers.has('idempotency-key')) return false
  return (await errorIn(response))?.code === 'idempotency_in_progress'
}

/** The server fetches the repository for this request; null: it refused for another reason. */
async function fetchingIn(response: Response): Promise<{ text: string; retryMs: number } | null> {
  const body = await errorIn(response)
  if (body?.code !== 'repository_fetching') return null
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryMs = (seconds >= 1 && seconds <= 60 ? seconds : 2) * 1000
  return { text: fetchProgressText(readFetchProgress(body.progress)), retryMs }
}

/** Reads a copy, so that the body is still there for the caller. Null when it is not JSON. */
async function errorIn(response: Response): Promise<{ code?: unknown; progress?: unknown } | null> {
  return (await response
    .clone()
    .json()
    .catch(() => null)) as { code?: unknown; progress?: unknown } | null
}
