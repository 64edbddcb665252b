/**
 * Readers of a project's events that lose their server or hang up, and resume at another server after the last number they saw.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TortureServer } from '../server.ts'
import { ignoreClosed } from '../../ignored.ts'

export interface Reader {
  name: string
  /** In order of arrival. */
  events: Map<number, object>
  last: number
  connections: number
  problems: string[]
}

export function startReader(
  servers: TortureServer[],
  options: { name: string; path: string; random: () => number; over: AbortSignal },
): { reader: Reader; ended: Promise<void> } {
  const reader: Reader = { name: options.name, events: new Map(), last: 0, connections: 0, problems: [] }
  const read = async () => {
    for (let at = Math.floor(options.random() * servers.length); !options.over.aborted; at++) {
      const server = servers[at % servers.length]!
      if (server.isRunning && server.url !== '') await follow(server, reader, options)
      await delay(20 + options.random() * 100)
    }
  }
  return { reader, ended: read() }
}

async function follow(
  server: TortureServer,
  reader: Reader,
  { path, random, over }: { path: string; random: () => number; over: AbortSignal },
): Promise<void> {
  const enough = new AbortController()
  // Sometimes it stays until the server dies, sometimes it leaves after a few events.
  let patience = random() < 0.5 ? Number.POSITIVE_INFINITY : 1 + Math.floor(random() * 60)
  try {
    const response = await fetch(server.url + path, {
      headers: {
        authorization: `Bearer ${server.token}`,
        accept: 'text/event-stream',
        'last-event-id': String(reader.last),
      },
      signal: AbortSignal.any([enough.signal, over]),
    })
    if (!response.ok || response.body === null) return
    reader.connections++
    for await (const frame of framesOf(response.body)) {
      take(reader, frame)
      if (--patience <= 0) break
    }
  } catch {
    ignoreClosed()
  } finally {
    enough.abort()
  }
}

interface Frame {
  id: string
  event: string
  data: string
}

function take(reader: Reader, { id, event, data }: Frame): void {
  if (event === '') return
  const number = Number(id)
  if (event === 'ready') {
    if (number !== reader.last)
      reader.problems.push(`${reader.name}: ready after ${number}, asked after ${reader.last}`)
    return
  }
  if (number !== reader.last + 1) reader.problems.push(`${reader.name}: ${number} (${event}) came after ${reader.last}`)
  reader.last = number
  reader.events.set(number, JSON.parse(data) as object)
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    // The stream may end inside a frame: an event counts once its empty line has arrived.
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line): [string, string] => [line.split(':', 1)[0]!, line.slice(line.indexOf(':') + 1).trim()]),
      )
      text = text.slice(end + 2)
      yield { id: fields.get('id') ?? '', event: fields.get('event') ?? '', data: fields.get('data') ?? '' }
    }
  }
}
