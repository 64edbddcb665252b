import type { ApiClient } from '@svc/contract/api'
import type { Session } from '../../api-types.ts'
import { reply, replyPage } from '../../api.ts'
import { allPages } from '../../pages.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'

export async function resolveSessionId(api: ApiClient, projectId: string, given: string): Promise<string> {
  if (uuid.test(given)) return given.toLowerCase()
  const found = findOne(await allSessions(api, projectId), given, {
    what: ['session', 'sessions'],
    id: (session) => session.session_id,
    isNamed: (session) => session.name === given,
    next: ['svc sessions ls'],
  })
  return found.session_id
}

export function allSessions(api: ApiClient, projectId: string): Promise<Session[]> {
  return allPages((query) =>
    replyPage(api.GET('/v1/projects/{projectId}/sessions', { params: { path: { projectId }, query } })),
  )
}

export function getSession(api: ApiClient, projectId: string, sessionId: string): Promise<Session> {
  return reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}', { params: { path: { projectId, sessionId } } }))
}
