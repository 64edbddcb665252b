/** A browser does not reopen a stream that the server refused. */
const reopenMs = 5_000

/** Follows server-sent events until the returned function is called. `onStream` receives each stream, also one reopened after a refusal. */
export function followEvents(addressNow: () => string, onStream: (stream: EventSource) => void): () => void {
  let end = () => {}
  const open = () => {
    const stream = new EventSource(addressNow())
    end = () => stream.close()
    onStream(stream)
    stream.addEventListener('error', () => {
      // Otherwise the browser reconnects.
      if (stream.readyState !== EventSource.CLOSED) return
      const again = setTimeout(open, reopenMs)
      end = () => clearTimeout(again)
    })
  }
  open()
  return () => end()
}
