/** fetch cannot choose the address of a host name; this can, while the request and the certificate keep the name. */
import http from 'node:http'
import https from 'node:https'
import { pinnedLookup } from './http-client.ts'

interface PinnedFetchOptions {
  /** The host name is dialed only at these addresses; empty: normal resolution. */
  pin: string[]
  /** Gives up after that long without a byte from the other side. */
  idleMs?: number
}

/** Follows no redirect and decodes no encoding. An abort ends it at any time, also during a body. */
export function pinnedFetch(url: URL, init: RequestInit, options: PinnedFetchOptions): Promise<Response> {
  const settings: https.RequestOptions = {
    method: init.method ?? 'GET',
    // A kept connection may lead to an address that the name no longer has.
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
      // The reader of the body gets this error there; without a reader it does not matter.
      response.on('error', reportedToReader)
      const isBodiless = [204, 205, 304].includes(status)
      if (isBodiless) response.resume()
      resolve(new Response(isBodiless ? null : bodyOf(response, given), { status, headers }))
    })
    // Destroys the request without an error: Bun would throw one at its inner socket, where it cannot be caught.
    const giveUp = (reason: unknown) => {
      given.up ??= reason
      reject(reason)
      request.destroy()
    }
    const { signal } = init
    const abort = () => giveUp(signal?.reason ?? new Error('The request was aborted.'))
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort)
    request.on('close', () => signal?.removeEventListener('abort', abort))
    const { idleMs } = options
    if (idleMs !== undefined)
      request.setTimeout(idleMs, () =>
        giveUp(new Error(`${url.host} sent nothing for ${Math.round(idleMs / 1000)} s.`)),
      )
    request.on('error', (error) => reject(given.up ?? error))
    request.end(init.body == null ? undefined : String(init.body))
  })
}

/** The body's reader gets the error from bodyOf(). */
function reportedToReader(): void {}

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
