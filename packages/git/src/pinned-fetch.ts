/** fetch has no way to say which address a name is; here the name stays in the request and in the certificate that is wanted. */
import http from 'node:http'
import https from 'node:https'
import { pinnedLookup } from './http-client.ts'

export interface PinnedFetchOptions {
  /** The name is dialled at these addresses and nowhere else; none: wherever it leads. */
  pin: string[]
  /** Given up after that long without a byte from the other side. */
  idleMs?: number
}

/** Follows no redirect and decodes no encoding. An abort ends it at any time, in the middle of a body, too. */
export function pinnedFetch(url: URL, init: RequestInit, options: PinnedFetchOptions): Promise<Response> {
  const settings: https.RequestOptions = {
    method: init.method ?? 'GET',
    // A connection that was kept may lead where its name no longer does.
    agent: false,
    headers: { 'user-agent': 'svc', ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
    ...(options.pin.length > 0 ? { lookup: pinnedLookup(options.pin) } : {}),
  }
  return new Promise((resolve, reject) => {
    const given = { up: null as unknown }
    const request = (url.protocol === 'https:' ? https : http).request(url, settings, (response) => {
      const status = response.statusCode ?? 502
      const headers = new Headers()
      for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value))
      // Whoever reads the body is told of it there; of one that nobody reads, an end is no news.
      response.on('error', () => {})
      const isBodiless = [204, 205, 304].includes(status)
      if (isBodiless) response.resume()
      resolve(new Response(isBodiless ? null : bodyOf(response, given), { status, headers }))
    })
    // Ended without an error of its own: Bun throws one at its inner socket, where nobody can listen.
    const giveUp = (reason: unknown) => {
      given.up ??= reason
      reject(reason)
      request.destroy()
    }
    const { signal } = init
    const abort = () => giveUp(signal?.reason ?? new Error('It was given up.'))
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort)
    request.on('close', () => signal?.removeEventListener('abort', abort))
    const { idleMs } = options
    if (idleMs !== undefined)
      request.setTimeout(idleMs, () =>
        giveUp(new Error(`${url.host} said nothing for ${Math.round(idleMs / 1000)} s.`)),
      )
    request.on('error', (error) => reject(given.up ?? error))
    request.end(init.body == null ? undefined : String(init.body))
  })
}

function bodyOf(response: http.IncomingMessage, given: { up: unknown }): ReadableStream<Uint8Array> {
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next()
        if (given.up !== null) throw given.up
        if (done === true) return controller.close()
        controller.enqueue(new Uint8Array(value))
      } catch (error) {
        response.destroy()
        controller.error(given.up ?? error)
      }
    },
    cancel: () => void response.destroy(),
  })
}
