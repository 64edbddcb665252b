/**
 * External webhook receivers: one accepts everything, others fail, hang, hang up, or respond late. Each records its requests
 * and responses.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { ignoreClosed } from '../../ignored.ts'

export interface Letter {
  id: number
  type: string
  deliveryId: string
  event: object
  isGenuine: boolean
  /** Null until it responded; false when it refused or hung up. */
  isTaken: boolean | null
}

export interface Receiver {
  name: string
  url: string
  /** The event types of its webhook. */
  events: string[]
  webhookId: string
  secret: string
  letters: Letter[]
  /** From here on it accepts everything at once. */
  behave(): void
  close(): Promise<void>
}

type Manners = (random: () => number) => 'take' | 'refuse' | 'hang up' | 'hang' | 'cut' | 'late'

const manners: Record<string, { events: string[]; of: Manners }> = {
  good: { events: ['*'], of: () => 'take' },
  'merges alone': { events: ['change_request.merged'], of: () => 'take' },
  late: { events: ['*'], of: (random) => (random() < 0.3 ? 'late' : 'take') },
  unsteady: {
    events: ['*'],
    of: (random) => (random() < 0.94 ? 'take' : (['refuse', 'hang up', 'cut'] as const)[Math.floor(random() * 3)]!),
  },
  hanging: { events: ['*'], of: (random) => (random() < 0.98 ? 'take' : 'hang') },
}

export function startReceivers(random: () => number, names = Object.keys(manners)): Promise<Receiver[]> {
  return Promise.all(
    names.map((name) => {
      const { events, of } = manners[name]!
      return start(name, events, () => of(random))
    }),
  )
}

async function start(name: string, events: string[], choose: () => ReturnType<Manners>): Promise<Receiver> {
  let isGood = false
  const over = new AbortController()
  const server = createServer((request, response) => {
    // A sender that dies mid-request has sent nothing.
    void text(request).then(async (raw) => {
      const letter = open(request, raw, receiver.secret)
      receiver.letters.push(letter)
      response.on('close', () => (letter.isTaken ??= false))
      await answer(response, letter, isGood ? 'take' : choose(), over.signal)
    }, ignoreClosed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    ...{ name, events, webhookId: '', secret: '', letters: [] },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${encodeURIComponent(name)}`,
    behave: () => (isGood = true),
    close: () => {
      over.abort()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return receiver
}

async function answer(
  response: ServerResponse,
  letter: Letter,
  how: ReturnType<Manners>,
  over: AbortSignal,
): Promise<void> {
  // After an interrupted delivery the sender may continue with the next event or repeat this one.
  const take = () => {
    letter.isTaken = true
    response.writeHead(200).end('taken')
  }
  switch (how) {
    case 'take':
      return take()
    case 'late':
      await delay(20 + (letter.id % 7) * 40, null, { signal: over }).catch(() => null)
      return take()
    case 'refuse':
      letter.isTaken = false
      response.writeHead(letter.id % 2 === 0 ? 503 : 302, { location: 'http://127.0.0.1:1/' }).end('not now')
      return
    case 'hang up':
      letter.isTaken = false
      response.destroy()
      return
    case 'cut':
      // Announces a longer body than it sends.
      letter.isTaken = false
      response.writeHead(500, { 'content-length': '100' })
      response.write('half')
      response.destroy()
      return
    case 'hang':
      // Until the sender gives up.
      return
    default:
      return how satisfies never
  }
}

function open(request: IncomingMessage, raw: string, secret: string): Letter {
  const header = (name: string) => String(request.headers[name] ?? '')
  const stamp = header('x-svc-timestamp')
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(`${stamp}.${raw}`).digest('hex')}`)
  const given = Buffer.from(header('x-svc-signature'))
  const event = JSON.parse(raw) as { id: number; type: string }
  const isFresh = Math.abs(Date.now() / 1000 - Number(stamp)) < 60
  const isGenuine = isFresh && given.length === expected.length && timingSafeEqual(given, expected)
  const deliveryId = header('x-svc-delivery')
  const isNamed = header('x-svc-event') === event.type
  return { id: event.id, type: event.type, deliveryId, event, isGenuine: isGenuine && isNamed, isTaken: null }
}
