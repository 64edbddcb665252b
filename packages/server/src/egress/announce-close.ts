/** Adds `Connection: close` to the response of a forwarded request: hosts close, but not all of them announce it. */
import { Transform } from 'node:stream'
import { headBytesMax } from './request-head.ts'

/** Without the announcement a client sends its next request on a connection that is about to end. */
export function announceClose(): Transform {
  let head: Buffer | null = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (head === null) return done(null, chunk)
      head = Buffer.concat([head, chunk])
      let end = head.indexOf('\r\n\r\n')
      // The client waits for these, such as 100 Continue. The response follows.
      while (end !== -1 && /^HTTP\/1\.[01] 1/.test(head.toString('latin1', 0, 12))) {
        this.push(head.subarray(0, end + 4))
        head = head.subarray(end + 4)
        end = head.indexOf('\r\n\r\n')
      }
      if (end === -1 && head.length <= headBytesMax) return done()
      const line = head.indexOf('\r\n') + 2
      const isHead = end !== -1 && head.toString('latin1', 0, 7) === 'HTTP/1.'
      if (isHead) this.push(Buffer.concat([head.subarray(0, line), Buffer.from('Connection: close\r\n')]))
      const rest = isHead ? head.subarray(line) : head
      head = null
      done(null, rest)
    },
    flush(done) {
      done(null, head)
    },
  })
}
