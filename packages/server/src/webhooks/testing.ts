/** A receiver of webhooks with programmable responses. */
import { createHmac } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Letter {
  headers: Record<string, string>
  body: Record<string, unknown> & { id?: number; type: string }
  raw: string
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

export async function startReceiver() {
  const letters: Letter[] = []
  let atOnce = 0
  const server = createServer((request, response) => {
    atOnce++
    receiver.atOnceMax = Math.max(receiver.atOnceMax, atOnce)
    response.on('close', () => atOnce--)
    void text(request).then((raw) => {
      const letter = {
        headers: request.headers as Record<string, string>,
        raw,
        body: (raw === '' ? { type: 'none' } : JSON.parse(raw)) as Letter['body'],
      }
      letters.push(letter)
      const { answer } = receiver
      if (typeof answer === 'function') answer(letter, response)
      else response.writeHead(answer).end(`answered ${answer}`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/take?from=svc`,
    /** Every request in order of arrival, accepted or not. */
    letters,
    /** The most requests in progress at once. */
    atOnceMax: 0,
    /** The response: a status, or a function that writes it. */
    answer: 200 as number | ((letter: Letter, response: ServerResponse) => void),
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return receiver
}

/** Verifies a signature as a receiver does, without our code. */
export function isGenuine({ headers, raw }: Letter, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(`${headers['x-svc-timestamp']}.${raw}`).digest('hex')
  return headers['x-svc-signature'] === `sha256=${expected}`
}
