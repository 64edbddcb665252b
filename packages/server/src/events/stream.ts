/** The feed of a project's events. The database is its buffer: a reader gets what follows the last event it has seen. */
import type { ProjectEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { type EventChannel, eventStream } from '../http/event-channel.ts'
import type { ProjectRow } from '../projects/store.ts'
import { eventsAfter, numberBefore, readNumbers } from './store.ts'

const pageSize = 200
/** After this the reader reconnects and is authorized again. */
const streamMs = 10 * 60_000
const retryMs = 1_000

type StreamDeps = Pick<Deps, 'db' | 'events' | 'log'>

interface Reader {
  /** The last event it has seen; null starts with the next one; NaN is an id we did not issue. */
  after: number | null
  /** Without `after`, starts with the events of so many seconds before. */
  recent?: number
  /** Filters and redacts events for the reader. */
  shownOf: (events: ProjectEvent[]) => Promise<ProjectEvent[]>
}

export function streamProjectEvents(
  deps: StreamDeps,
  project: Pick<ProjectRow, 'project_id'>,
  { signal, ...reader }: { signal: AbortSignal } & Reader,
): Response {
  return eventStream(signal, async (channel) => {
    try {
      await feedReader(deps, project.project_id, channel, reader)
    } catch (error) {
      deps.log.warn({ err: error, project_id: project.project_id }, 'an event stream failed to read its events')
    } finally {
      channel.close()
    }
  })
}

async function feedReader(deps: StreamDeps, projectId: string, channel: EventChannel, reader: Reader): Promise<void> {
  const wakeup = new Wakeup()
  const unsubscribe = deps.events.subscribe(projectId, () => wakeup.ring())
  const enough = setTimeout(() => channel.close(), streamMs)
  channel.onClose(() => {
    clearTimeout(enough)
    unsubscribe()
    wakeup.ring()
  })
  const { last, forgotten } = await readNumbers(deps.db, projectId)
  const { after: seen, recent } = reader
  const isOurs = seen === null || (seen >= forgotten && seen <= last)
  const start = seen ?? (recent === undefined ? last : await numberBefore(deps.db, projectId, recent))
  let after = start <= last ? Math.max(start, forgotten) : last
  await channel.send(`retry: ${retryMs}\n${isOurs ? mark('ready', after) : mark('reset', after)}`)
  while (!channel.isClosed && !deps.events.isClosed) {
    // Before reading: a commit after the read rings again.
    wakeup.arm()
    const events = await eventsAfter(deps.db, projectId, after, pageSize)
    const first = events[0]
    // So slow that its next event has been deleted.
    if (first !== undefined && first.id !== after + 1) await channel.send(mark('reset', first.id - 1))
    for (const event of await reader.shownOf(events)) await channel.send(frame(event))
    after = events.at(-1)?.id ?? after
    if (events.length < pageSize) await wakeup.heard()
  }
}

function mark(type: 'ready' | 'reset', id: number): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, id })}\n\n`
}

function frame(event: ProjectEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Remembers a ring that nothing awaits yet. */
class Wakeup {
  #rung = Promise.withResolvers<void>()

  arm(): void {
    this.#rung = Promise.withResolvers<void>()
  }

  ring(): void {
    this.#rung.resolve()
  }

  heard(): Promise<void> {
    return this.#rung.promise
  }
}
