import type { Duplex } from 'node:stream'
import { passedAnswerHead } from './raw-headers.ts'

const headBytesMax = 64 * 1024

/**
 * Tunnels an upgraded connection (a WebSocket, for example) to `upstream`, which is still connecting. Only the two heads
 * are rewritten; after them it copies bytes in both directions and interprets no frame.
 */
export function tunnelUpgrade(
  client: Duplex,
  upstream: Duplex,
  tunnel: {
    requestHead: string
    /** Bytes that the client sent right after its head. */
    head: Buffer
    /** The headers of the answer that pass to the client. */
    answerHeaders: (rawHeaders: string[]) => string[]
    /** The connection failed before the answer, so nothing was sent to the client. This answers the client and ends it. */
    failed: (error: NodeJS.ErrnoException) => void
  },
): void {
  let answered = false
  let isFailed = false
  client.on('close', () => upstream.destroy())
  client.on('error', () => upstream.destroy())
  upstream.on('error', (error) => {
    if (answered) return void client.destroy()
    isFailed = true
    tunnel.failed(error)
  })
  // The answer to a failure may take a moment, and `close` follows the error at once.
  upstream.on('close', () => isFailed || client.destroy())
  upstream.on('connect', () => {
    upstream.write(tunnel.requestHead, 'latin1')
    if (tunnel.head.length > 0) upstream.write(tunnel.head)
    client.pipe(upstream)
  })
  let held = Buffer.alloc(0)
  const readHead = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    const end = held.indexOf('\r\n\r\n')
    if (end === -1) {
      if (held.length > headBytesMax) upstream.destroy()
      return
    }
    upstream.off('data', readHead)
    answered = true
    client.write(passedAnswerHead(held.subarray(0, end).toString('latin1'), tunnel.answerHeaders), 'latin1')
    const rest = held.subarray(end + 4)
    if (rest.length > 0) client.write(rest)
    upstream.pipe(client)
  }
  upstream.on('data', readHead)
}
