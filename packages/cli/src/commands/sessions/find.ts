import type { Session } from '@svc/sdk'
import type { Context } from '../../context.ts'
import { allPages } from '../../pages.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'
import type { ProjectClient, SessionClient } from '../../requests.ts'

/** The session that an argument names. */
export async function sessionAt(ctx: Context, given: string): Promise<SessionClient> {
  await ctx.project.id()
  return ctx.project.session(await resolveSessionId(ctx.project, given))
}

export async function resolveSessionId(project: ProjectClient, given: string): Promise<string> {
  if (uuid.test(given)) return given.toLowerCase()
  const found = findOne(await allSessions(project), given, {
    what: ['session', 'sessions'],
    id: (session) => session.session_id,
    isNamed: (session) => session.name === given,
    next: ['svc sessions ls'],
  })
  return found.session_id
}

export function allSessions(project: ProjectClient): Promise<Session[]> {
  return allPages((query) => project.page('/sessions', { query }))
}
