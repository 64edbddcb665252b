import { pinnedFetch } from './pinned-fetch.ts'

/** fetch for a host's API, with limits on time and size. It follows no redirect, which would receive the credential. */
export function boundedFetch(limits: { timeoutMs: number; bytesMax: number; pin?: string[] }) {
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    const signals = [AbortSignal.timeout(limits.timeoutMs), ...(init.signal ? [init.signal] : [])]
    const signal = AbortSignal.any(signals)
    const answer = await (limits.pin?.length
      ? pinnedFetch(new URL(url), { ...init, signal }, { pin: limits.pin })
      : fetch(url, { ...init, redirect: 'manual', signal }))
    const body = await readBounded(answer, limits.bytesMax)
    // The body is already decoded.
    const headers = new Headers(answer.headers)
    headers.delete('content-encoding')
    headers.delete('content-length')
    const isBodiless = [204, 205, 304].includes(answer.status)
    return new Response(isBodiless ? null : body, { status: answer.status, headers })
  }
}

async function readBounded(answer: Response, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`the API returned more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
