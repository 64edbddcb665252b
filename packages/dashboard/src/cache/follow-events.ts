/** A browser does not reopen a stream that the server refused. */
const reopenMs = 5_000

/** A page has read what it shows at most so long before it follows it. */
const readBeforeSeconds = 30

/**
 * Follows server-sent events until the returned function is called. `onStream` receives each stream, also one reopened after a
 * refusal. `addressOf` gets how many seconds ago the page may have read what it shows: a stream has to begin there.
 */
export function followEvents(
  addressOf: (recentSeconds: number) => string,
  onStream: (stream: EventSource) => void,
): () => void {
  let end = () => {}
  const began = performance.now()
  const open = () => {
    const seconds = Math.ceil((performance.now() - began) / 1000)
    const stream = new EventSource(addressOf(Math.min(seconds + readBeforeSeconds, 3600)))
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
