/** fetch for a host's API: follows no redirect, which would carry the credential along, and bounds time and size. */
export function boundedFetch(limits: { timeoutMs: number; bytesMax: number }) {
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    const signals = [AbortSignal.timeout(limits.timeoutMs), ...(init.signal ? [init.signal] : [])]
    const answer = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.any(signals) })
    const body = await readBounded(answer, limits.bytesMax)
    // The body is read out of its encoding already.
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
