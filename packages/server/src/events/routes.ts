import { type ProjectEvent, type Role, streamProjectEventsRoute } from '@svc/contract'
import { mayWrite } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { eventsAfter, newestEvents, readNumbers } from './store.ts'
import { streamProjectEvents } from './stream.ts'

export function eventRoutes(deps: Deps): Mounted[] {
  return [
    handle(streamProjectEventsRoute, async ({ project, query, request: { headers, signal } }) => {
      const { after, limit } = query
      const mayRead = readableBy(project.role)
      if (!wantsPage(headers.get('accept'))) {
        const seen = seenBy(headers.get('last-event-id')) ?? after ?? null
        return streamProjectEvents(deps, project, { signal, after: seen, mayRead })
      }
      const events =
        after === undefined
          ? await newestEvents(deps.db, project.project_id, limit)
          : await eventsAfter(deps.db, project.project_id, after, limit)
      return { events: events.filter(mayRead), ...(await readNumbers(deps.db, project.project_id)) }
    }),
  ]
}

/** Change requests are for whoever may write. */
function readableBy(role: Role): (event: ProjectEvent) => boolean {
  return (event) => mayWrite(role) || !/^(change_request|check)\./.test(event.type)
}

/** A stream for whoever does not ask for JSON alone. */
function wantsPage(accept: string | null): boolean {
  return accept !== null && accept.includes('application/json') && !accept.includes('text/event-stream')
}

/** Null without the header; NaN for an id that is none of ours. */
function seenBy(lastEventId: string | null): number | null {
  if (lastEventId === null || lastEventId === '') return null
  return /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN
}
