import { type ProjectEvent, type Role, streamProjectEventsRoute } from '@svc/contract'
import { readableDeploys } from '../apps/log/agent-access.ts'
import { type Actor, boundSession, mayWrite } from '../auth/actor.ts'
import { controlledOf } from '../auth/session-control.ts'
import type { Deps } from '../deps.ts'
import { wantsPage } from '../http/event-channel.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { eventsAfter, newestEvents, readNumbers } from './store.ts'
import { streamProjectEvents } from './stream.ts'

export function eventRoutes(deps: Deps): Mounted[] {
  return [
    handle(streamProjectEventsRoute, async ({ project, query, caller, request: { headers, signal } }) => {
      const { after, recent, limit } = query
      const shownOf = (events: ProjectEvent[]) => shownTo(deps, { role: project.role, actor: caller.actor }, events)
      if (!wantsPage(headers.get('accept'))) {
        const seen = seenBy(headers.get('last-event-id')) ?? after ?? null
        return streamProjectEvents(deps, project, { signal, after: seen, recent, shownOf })
      }
      const events =
        after === undefined
          ? await newestEvents(deps.db, project.project_id, limit)
          : await eventsAfter(deps.db, project.project_id, after, limit)
      return { events: await shownOf(events), ...(await readNumbers(deps.db, project.project_id)) }
    }),
  ]
}

/**
 * Viewers see no events of change requests and checks. An agent sees that something happened in other sessions, but not their errors
 * or questions, nor why an app failed whose log it may not read.
 */
async function shownTo(
  deps: Pick<Deps, 'db'>,
  reader: { role: Role; actor: Actor },
  events: ProjectEvent[],
): Promise<ProjectEvent[]> {
  const readable = events.filter(({ type }) => mayWrite(reader.role) || !/^(change_request|check)\./.test(type))
  const withReason = readable
    .filter(isOfSession)
    .filter(({ data }) => data.reason !== null || data.question !== undefined)
  const isControlled = await controlledOf(
    deps.db,
    reader.actor,
    withReason.map(({ data }) => data.session_id),
  )
  const mayRead = await readerOfDeploys(deps, reader.actor, readable)
  return readable.map((event) => {
    if (isOfSession(event) && !isControlled(event.data.session_id)) {
      const { question, ...data } = event.data
      const shown = question === undefined ? {} : { question: { ...question, title: '' } }
      return { ...event, data: { ...data, ...shown, reason: null } }
    }
    if (isOfDeploy(event) && !mayRead(event.data.deploy_id)) return { ...event, data: { ...event.data, reason: null } }
    return event
  })
}

async function readerOfDeploys(deps: Pick<Deps, 'db'>, actor: Actor, events: ProjectEvent[]) {
  const first = events.filter(isOfDeploy).find(({ data }) => data.reason !== null)
  if (first === undefined) return () => true
  return readableDeploys(deps, boundSession(actor), { project_id: first.project_id })
}

function isOfDeploy(event: ProjectEvent): event is Extract<ProjectEvent, { type: `deploy.${string}` }> {
  return event.type.startsWith('deploy.')
}

function isOfSession(event: ProjectEvent): event is Extract<ProjectEvent, { type: `session.${string}` }> {
  return event.type.startsWith('session.')
}

/** Null without the header; NaN for an id we did not issue. */
function seenBy(lastEventId: string | null): number | null {
  if (lastEventId === null || lastEventId === '') return null
  return /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN
}
