/**
 * Ends the connection when a streamed body breaks. By default the listener sends a plain 500 with the error's text
 * where nothing was sent yet, on a connection that looks reusable and is reset under the next request. A client must
 * not take half of an answer for the whole.
 */
export function cutWhenBroken(response: Response, broke: (error: unknown) => { isCut: boolean }): Response {
  if (isWhole(response) || response.body === null) return response
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  // A client that disconnects during a read closes this stream itself.
  let hasLeft = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (hasLeft) return
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          if (hasLeft) return
          if (broke(error).isCut) controller.close()
          else controller.error(error)
        }
      },
      cancel(reason) {
        hasLeft = true
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}

/** A body made as one text cannot break. */
function isWhole(response: Response): boolean {
  return /^(?:application\/json|text\/(?:html|plain|css|javascript))/.test(response.headers.get('content-type') ?? '')
}
