/** The feed of a project's events. The database is its buffer: a reader is told what comes after the last it has seen. */
import type { ProjectEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { type EventChannel, eventStream } from '../http/event-channel.ts'
import type { ProjectRow } from '../projects/store.ts'
import { eventsAfter, readNumbers } from './store.ts'

const pageSize = 200
/** Then the reader comes again by itself, and shows again that it may. */
const streamMs = 10 * 60_000
const retryMs = 1_000

type StreamDeps = Pick<Deps, 'db' | 'events' | 'log'>

interface Reader {
  /** The last event it has seen; null begins with the next one; NaN is an id that is none of ours. */
  after: number | null
  /** Those of the events that the reader may see, as it may see them. */
  shownOf: (events: ProjectEvent[]) => Promise<ProjectEvent[]>
}

export function streamProjectEvents(
  deps: StreamDeps,
  project: Pick<ProjectRow, 'project_id'>,
  { signal, ...reader }: { signal: AbortSignal } & Reader,
): Response {
  return eventStream(signal, async (channel) => {
    try {
      await tell(deps, project.project_id, channel, reader)
    } catch (error) {
      deps.log.warn({ err: error, project_id: project.project_id }, 'an event stream could not read what there is')
    } finally {
      channel.close()
    }
  })
}

async function tell(deps: StreamDeps, projectId: string, channel: EventChannel, reader: Reader): Promise<void> {
  const asked = reader.after
  const bell = new Bell()
  const unsubscribe = deps.events.subscribe(projectId, () => bell.ring())
  const enough = setTimeout(() => channel.close(), streamMs)
  channel.onClose(() => {
    clearTimeout(enough)
    unsubscribe()
    bell.ring()
  })
  const { last, forgotten } = await readNumbers(deps.db, projectId)
  const isOurs = asked === null || (asked >= forgotten && asked <= last)
  let after = asked === null || !(asked <= last) ? last : Math.max(asked, forgotten)
  await channel.send(`retry: ${retryMs}\n${isOurs ? mark('ready', after) : mark('reset', after)}`)
  while (!channel.isClosed && !deps.events.isClosed) {
    // Before reading: what commits after the look rings again.
    bell.arm()
    const events = await eventsAfter(deps.db, projectId, after, pageSize)
    const first = events[0]
    // So slow that what it was to read next was forgotten meanwhile.
    if (first !== undefined && first.id !== after + 1) await channel.send(mark('reset', first.id - 1))
    for (const event of await reader.shownOf(events)) await channel.send(frame(event))
    after = events.at(-1)?.id ?? after
    if (events.length < pageSize) await bell.heard()
  }
}

function mark(type: 'ready' | 'reset', id: number): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, id })}\n\n`
}

function frame(event: ProjectEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Remembers a ring that comes before anybody waits for it. */
class Bell {
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
