/**
 * Readers of a project's events that lose their server or hang up, and resume at another server after the last number they saw.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventSourceMessage } from 'eventsource-parser'
import { eventsOf } from '../../../packages/server/src/testing-events.ts'
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
    const response = await server.api(path, {
      headers: { accept: 'text/event-stream', 'last-event-id': String(reader.last) },
      signal: AbortSignal.any([enough.signal, over]),
    })
    if (!response.ok || response.body === null) return
    reader.connections++
    // An event counts once its empty line has arrived: the stream may end before that.
    for await (const frame of eventsOf(response.body)) {
      take(reader, frame)
      if (--patience <= 0) break
    }
  } catch {
    ignoreClosed()
  } finally {
    enough.abort()
  }
}

function take(reader: Reader, { id, event, data }: EventSourceMessage): void {
  if (event === undefined) return
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
