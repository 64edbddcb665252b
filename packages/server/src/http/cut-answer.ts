/**
 * An answer whose body comes as a stream, ended with its connection when the stream breaks. The listener's own way is a
 * plain 500 with the words of the error where nothing was sent yet, on a connection that looks as if it could be used
 * again and is reset under the next request. Nobody who reads half of an answer may take it for the whole.
 */
export function cutWhenBroken(response: Response, broke: (error: unknown) => { isCut: boolean }): Response {
  if (isWhole(response) || response.body === null) return response
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  // Whoever left in the middle of a read has closed this stream themselves.
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

/** What is made as one text cannot break. */
function isWhole(response: Response): boolean {
  return /^(?:application\/json|text\/(?:html|plain|css|javascript))/.test(response.headers.get('content-type') ?? '')
}
