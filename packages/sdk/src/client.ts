/** The client: one typed method call for each operation of the API document. */
import { type ApiClient, createApiClient } from '@svc/contract/api'
import { Sender } from './send.ts'

export type SvcClient = ApiClient

export interface ClientOptions {
  /** The address of the server; it ends before `/v1`. */
  baseUrl: string
  /** A user token or a project token. Null for the routes that need none. */
  token: string | null
  userAgent?: string
  /** Aborts every request and every wait between two attempts. */
  signal?: AbortSignal
  /** How to wait between two attempts; tests replace it. */
  sleep?: (ms: number) => Promise<void>
  notice?: SlowNotice
}

/** Called while an answer is slow to come. */
export interface SlowNotice {
  /** `progress` is the server's own, for example of a fetch from the git host. */
  show(progress?: string): void
  hide(): void
}

/** After this time a person wonders what the client waits for. */
const slowMs = 500

export function createSvcClient(options: ClientOptions): SvcClient {
  const { baseUrl, token, userAgent, notice } = options
  const sender = new Sender(options)
  return createApiClient({
    base: baseUrl,
    headers: {
      ...(userAgent === undefined ? {} : { 'User-Agent': userAgent }),
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    },
    async fetch(request) {
      let shown = false
      const show = (progress?: string) => {
        clearTimeout(slow)
        shown = true
        notice?.show(progress)
      }
      const slow = setTimeout(show, slowMs)
      try {
        return await sender.send(request, show)
      } finally {
        clearTimeout(slow)
        if (shown) notice?.hide()
      }
    },
  })
}
