import type { Session } from '@svc/sdk'
import type { paths } from '@svc/contract/api'
import { ServiceError } from '@svc/contract/errors'
import type { Context } from '../../../context.ts'
import { Guided } from '../../../errors.ts'
import { ago } from '../../../terminal/time.ts'
import { shortId } from '../labels.ts'

type Body = NonNullable<
  paths['/v1/projects/{projectId}/sessions']['post']['requestBody']
>['content']['application/json']

const shownMax = 20

/** Creates a session. At the session limit, the error lists the running ones. */
export async function startSession(ctx: Context, body: Body): Promise<Session> {
  try {
    return await ctx.project.post('/sessions', { once: true, body })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'concurrent_session_limit') throw error
    throw await withWhatRuns(ctx, error)
  }
}

async function withWhatRuns(ctx: Context, refusal: ServiceError): Promise<Error> {
  const alive = (status: 'running' | 'provisioning') =>
    ctx.project.get('/sessions', { query: { status, limit: shownMax } }).catch(() => [])
  const sessions = [...(await alive('provisioning')), ...(await alive('running'))]
  const [idlest] = sessions.toSorted((a, b) => a.last_active_at.localeCompare(b.last_active_at))
  return new Guided(refusal, {
    hint:
      sessions.length === 0
        ? "They run in other projects: svc status lists them. Stop one that you don't need, then try again."
        : "Stop one that you don't need, then try again.",
    next: [
      idlest === undefined ? 'svc status' : `svc sessions stop ${shortId(idlest.session_id, true)}`,
      'svc sessions ls --status running',
    ],
    lines: sessions.map(
      ({ session_id: id, status, name, last_active_at: at }) =>
        `${shortId(id, true)}  ${status}  ${name}, active ${ago(at, ctx.io.now())}`,
    ),
  })
}
