/** Tells one person that something changed in any of their projects, so that a page needs one stream. */
import type { z } from 'zod'
import type { inboxMark } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { type EventChannel, eventStream } from '../http/event-channel.ts'
import { changedProjects } from '../events/store.ts'
import { projectIdsOfUser } from '../projects/store.ts'

type StreamDeps = Pick<Deps, 'db' | 'events' | 'log'>
type Mark = z.infer<typeof inboxMark>

/** After this the reader reconnects, is authorized again, and follows new projects. */
const streamMs = 10 * 60_000
const retryMs = 1_000
/** A burst of events is one message. */
const gatherMs = 200
const projectsMax = 1_000

interface Reader {
  userId: string
  /** The stream begins with what changed in so many seconds before. */
  recent: number | undefined
}

export function streamInbox(deps: StreamDeps, { signal, ...reader }: { signal: AbortSignal } & Reader): Response {
  return eventStream(signal, async (channel) => {
    try {
      await follow(deps, reader, channel)
    } catch (error) {
      deps.log.warn({ err: error }, 'a stream of an inbox failed to begin')
      channel.close()
    }
  })
}

async function follow(deps: StreamDeps, { userId, recent }: Reader, channel: EventChannel): Promise<void> {
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  const flush = () => {
    timer = null
    const project_ids = [...changed]
    changed.clear()
    channel.sendNow(frame({ type: 'changed', project_ids }))
  }
  const note = (projectId: string) => {
    if (deps.events.isClosed) return channel.close()
    changed.add(projectId)
    timer ??= setTimeout(flush, gatherMs)
  }
  const ids = await followedProjects(deps, userId)
  const ends = ids.map((id) => deps.events.subscribe(id, () => note(id)))
  const enough = setTimeout(() => channel.close(), streamMs)
  channel.onClose(() => {
    clearTimeout(enough)
    if (timer !== null) clearTimeout(timer)
    for (const end of ends) end()
  })
  await channel.send(`retry: ${retryMs}\n${frame({ type: 'ready', project_ids: ids })}`)
  if (recent === undefined || ids.length === 0) return
  for (const id of await changedProjects(deps.db, ids, recent)) note(id)
}

export function followedProjects(deps: Pick<Deps, 'db'>, userId: string): Promise<string[]> {
  return projectIdsOfUser(deps.db, userId, projectsMax)
}

function frame(mark: Mark): string {
  return `event: ${mark.type}\ndata: ${JSON.stringify(mark)}\n\n`
}
