import type { ApiClient } from '@svc/contract/api'
import type { Session } from '../../wire.ts'
import { reply, replyPage } from '../../api.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { uuid } from '../projects/find.ts'

const pageSize = 1000
const pagesMax = 20
const prefixMin = 4

/** A full id is taken at its word; a shorter one must be the beginning of exactly one, a name the name of exactly one. */
export async function resolveSessionId(api: ApiClient, projectId: string, given: string): Promise<string> {
  const prefix = given.toLowerCase()
  if (uuid.test(prefix)) return prefix
  const all = await allSessions(api, projectId)
  const named = all.filter((session) => session.name === given)
  if (named.length === 1) return named[0]!.session_id
  if (named.length > 1)
    throw new Refusal('ambiguous', `${named.length} sessions have the name ${JSON.stringify(given)}`, {
      hint: 'Give an id.',
      detail: { sessions: named.slice(0, 20).map((session) => session.session_id) },
      next: ['svc sessions ls'],
    })
  if (!/^[0-9a-f-]*$/.test(prefix))
    throw new Refusal('not_found', `No session has the name ${JSON.stringify(given)}`, { next: ['svc sessions ls'] })
  if (prefix.length < prefixMin)
    throw new UsageError(`${JSON.stringify(given)} is too short for a session id`, {
      hint: `Give at least ${prefixMin} characters of it.`,
      next: ['svc sessions ls'],
    })
  const found = all.filter((session) => session.session_id.startsWith(prefix))
  if (found.length === 1) return found[0]!.session_id
  if (found.length === 0)
    throw new Refusal('not_found', `No session id begins with ${prefix}`, { next: ['svc sessions ls'] })
  throw new Refusal('ambiguous', `${found.length} session ids begin with ${prefix}`, {
    hint: 'Give more of it.',
    detail: { sessions: found.slice(0, 20).map((session) => session.session_id) },
    next: ['svc sessions ls'],
  })
}

export async function allSessions(api: ApiClient, projectId: string): Promise<Session[]> {
  const found: Session[] = []
  let cursor: string | null = null
  for (let i = 0; i < pagesMax; i++) {
    const query: { limit: number; cursor?: string } = { limit: pageSize, ...(cursor === null ? {} : { cursor }) }
    const next: { data: Session[]; cursor: string | null } = await replyPage(
      api.GET('/v1/projects/{projectId}/sessions', { params: { path: { projectId }, query } }),
    )
    found.push(...next.data)
    cursor = next.cursor
    if (cursor === null) break
  }
  return found
}

export function getSession(api: ApiClient, projectId: string, sessionId: string): Promise<Session> {
  return reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}', { params: { path: { projectId, sessionId } } }))
}
