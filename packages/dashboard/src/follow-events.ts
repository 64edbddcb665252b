/** After a refusal the browser lets a stream be. */
const openAgainMs = 5_000

/** Server-sent events for as long as the end is not called that is returned, opened again also after a refusal: `begin` hears of each. */
export function followEvents(addressNow: () => string, begin: (stream: EventSource) => void): () => void {
  let end = () => {}
  const open = () => {
    const stream = new EventSource(addressNow())
    end = () => stream.close()
    begin(stream)
    stream.addEventListener('error', () => {
      // Otherwise it comes again by itself.
      if (stream.readyState !== EventSource.CLOSED) return
      const again = setTimeout(open, openAgainMs)
      end = () => clearTimeout(again)
    })
  }
  open()
  return () => end()
}
