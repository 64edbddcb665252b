/** Reads a page of the inbox, and asks for the facts that it has to show without. */
import type { getInboxRoute, InboxGroup, InboxItem } from '@svc/contract'
import { inboxGroups } from '@svc/contract'
import type { z } from 'zod'
import { isUuid, notFound } from '../auth/allow.ts'
import { wantFacts } from '../change-requests/preview/facts-store.ts'
import type { Deps } from '../deps.ts'
import { cursorOf, invalidCursor, Page, readParts } from '../http/page.ts'
import { changeRequestDetails, questionDetails, sessionDetails } from './detail-store.ts'
import { findItems, type FoundItem, type ItemQuery } from './item-store.ts'
import { presentChangeRequest, presentQuestion, presentSession } from './present.ts'

type Query = z.output<typeof getInboxRoute.query>

export async function readInbox(deps: Pick<Deps, 'db' | 'now'>, userId: string, query: Query) {
  const { account_id: accountId, project_id: projectId, view, group, per_group: each } = query
  for (const id of [accountId, projectId]) if (id !== undefined && !isUuid(id)) throw notFound('project or account')
  const found = await findItems(deps.db, {
    ...{ userId, accountId, projectId, view, group, now: deps.now() },
    limit: each === undefined ? { all: query.limit + 1 } : { each },
    after: readPlace(query.cursor),
  })
  const { counts, snoozed, done } = found
  const isCut = each === undefined && found.items.length > query.limit
  const shown = isCut ? found.items.slice(0, query.limit) : found.items
  const last = shown.at(-1)
  const next = isCut && last !== undefined ? cursorOf([last.group, last.updated_at, last.key]) : null
  return new Page({ items: await presented(deps, shown), counts, snoozed, done }, next)
}

function readPlace(cursor: string | undefined): ItemQuery['after'] {
  if (cursor === undefined) return null
  const [group, updated_at, key] = readParts(cursor, 3)
  const isOurs = inboxGroups.includes(group as InboxGroup) && typeof key === 'string' && typeof updated_at === 'string'
  if (!isOurs || Number.isNaN(Date.parse(updated_at)) || key.includes('\0')) throw invalidCursor()
  return { group: group as InboxGroup, updated_at: new Date(updated_at).toISOString(), key }
}

async function presented(deps: Pick<Deps, 'db'>, items: FoundItem[]): Promise<InboxItem[]> {
  const ids = (...kinds: FoundItem['kind'][]) => items.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id)
  const [changeRequests, sessions, questions] = await Promise.all([
    changeRequestDetails(deps.db, ids('change_request')),
    sessionDetails(deps.db, ids('session')),
    questionDetails(deps.db, ids('question', 'approval')),
  ])
  const unknown = items.filter(({ state }) => state !== 'unreachable')
  const wanted = new Set(changeRequests.filter(({ is_compared }) => is_compared !== true).map(({ cr_id }) => cr_id))
  await wantFacts(
    deps.db,
    unknown.flatMap(({ id }) => (wanted.has(id) ? [id] : [])),
  )
  const crOf = new Map(changeRequests.map((row) => [row.cr_id, row]))
  const sessionOf = new Map(sessions.map((row) => [row.session_id, row]))
  const questionOf = new Map(questions.map((row) => [row.id, row]))
  // An item that was deleted between the two statements has no row.
  return items.flatMap((item) => {
    const [cr, session, question] = [crOf.get(item.id), sessionOf.get(item.id), questionOf.get(item.id)]
    if (cr !== undefined) return [presentChangeRequest(item, cr)]
    if (session !== undefined) return [presentSession(item, session)]
    return question === undefined ? [] : [presentQuestion(item, question)]
  })
}
