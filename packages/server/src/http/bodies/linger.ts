/** Answers that are given before their request was read whole. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isBodyAwaited } from './continue-when-read.ts'

/** How long, and how much, is read and dropped of a body behind its refusal. */
const lingerMsMax = 10_000
const lingerBytesMax = 256 * 1024 * 1024

/**
 * Ends the answer to another server once that has sent the whole body, which is dropped. The end closes the connection
 * of a request that was not read whole, and a server that still writes to it would lose the answer.
 */
export function lingerUntilRead(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse
  response.end = ((...args: unknown[]) => {
    response.end = end as ServerResponse['end']
    const isRead = request.complete || request.readableEnded
    if (isRead || isBodyAwaited(request) || request.destroyed || response.destroyed) return end(...args)
    const [last] = args
    if (last !== undefined && last !== null && typeof last !== 'function') response.write(last)
    let bytes = 0
    const done = () => {
      clearTimeout(timer)
      request.off('end', done).off('close', done).off('data', count)
      end(...args.filter((each) => typeof each === 'function'))
    }
    const count = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > lingerBytesMax) done()
    }
    const timer = setTimeout(done, lingerMsMax)
    request.on('end', done).on('close', done).on('data', count)
    request.resume()
    return response
  }) as ServerResponse['end']
}
