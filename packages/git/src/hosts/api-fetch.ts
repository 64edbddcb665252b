import http from 'node:http'
import https from 'node:https'
import { pinnedLookup } from '../http-client.ts'

export interface FetchLimits {
  timeoutMs: number
  bytesMax: number
  /** The name is dialled at these addresses and nowhere else. */
  pin?: string[]
}

/** fetch for a host's API: follows no redirect, which would carry the credential along, and bounds time and size. */
export function boundedFetch(limits: FetchLimits) {
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    const signals = [AbortSignal.timeout(limits.timeoutMs), ...(init.signal ? [init.signal] : [])]
    const signal = AbortSignal.any(signals)
    const answer = await (limits.pin?.length
      ? fetchPinned(url, { ...init, signal }, limits.pin)
      : fetch(url, { ...init, redirect: 'manual', signal }))
    const body = await readBounded(answer, limits.bytesMax)
    // The body is read out of its encoding already.
    const headers = new Headers(answer.headers)
    headers.delete('content-encoding')
    headers.delete('content-length')
    const isBodiless = [204, 205, 304].includes(answer.status)
    return new Response(isBodiless ? null : body, { status: answer.status, headers })
  }
}

/** fetch has no way to say which address a name is; the name stays in the request and in the certificate that is wanted. */
function fetchPinned(url: string, init: RequestInit, pin: string[]): Promise<Response> {
  const { protocol } = new URL(url)
  const options: https.RequestOptions = {
    method: init.method ?? 'GET',
    headers: { ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
    lookup: pinnedLookup(pin),
    ...(init.signal ? { signal: init.signal } : {}),
  }
  return new Promise((resolve, reject) => {
    const request = (protocol === 'https:' ? https : http).request(url, options, (response) => {
      const headers = new Headers()
      for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value))
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          try {
            for await (const chunk of response as AsyncIterable<Buffer>) controller.enqueue(chunk)
            controller.close()
          } catch (error) {
            controller.error(error)
          }
        },
        cancel: () => void response.destroy(),
      })
      const status = response.statusCode ?? 502
      resolve(new Response([204, 205, 304].includes(status) ? null : body, { status, headers }))
    })
    request.on('error', reject)
    request.end(init.body as string | undefined)
  })
}

async function readBounded(answer: Response, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = answer.body?.getReader()
  if (!reader) return Buffer.alloc(0)
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    bytes += value.length
    if (bytes > bytesMax) {
      await reader.cancel()
      throw new Error(`its API answered more than ${bytesMax} bytes`)
    }
    chunks.push(value)
  }
}
