/** The chunks of an untrusted body. Throws this message once they exceed the limit. */
export async function* bounded(
  body: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
  tooLarge: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(tooLarge)
    yield chunk
  }
}

/** Produces a piece only when the reader wants one, so a slow reader fills no memory. */
export function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return(undefined)
    },
  })
}
