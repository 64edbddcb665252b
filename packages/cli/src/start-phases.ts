/** Watches a session start, and says on stderr what it waits for. */
import type { ApiClient } from '@svc/contract/api'
import type { Phase, Session } from './wire.ts'
import { reply } from './api.ts'
import { getSession } from './commands/sessions/find.ts'
import type { Context } from './context.ts'
import { Refusal } from './errors.ts'
import { dim, green, red } from './output.ts'
import { duration } from './time.ts'

const lookEveryMs = 250
const waitMaxMs = 15 * 60_000
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

/** Ends when the session runs; throws when it will not. */
export async function watchStart(ctx: Context, api: ApiClient, started: Session): Promise<Session> {
  const { io, out } = ctx
  const began = io.now()
  let said = 0
  for (let tick = 0; io.now() - began < waitMaxMs; tick++) {
    const [session, phases] = await Promise.all([
      getSession(api, started.project_id, started.session_id),
      getPhases(api, started),
    ])
    // Several phases may run at once; they are said in order, each once it has ended.
    for (; said < phases.length && (phases[said]!.ms !== null || phases[said]!.error !== null); said++) {
      sayPhase(ctx, phases[said]!)
    }
    if (session.status === 'running') {
      out.progress(green('✓ '), 'running', dim(`  ${duration(io.now() - began)} in all`))
      return session
    }
    if (session.status !== 'provisioning' && session.status !== 'queued' && session.status !== 'branching') {
      throw notStarted(session)
    }
    const now = phases[said]
    const since = now === undefined ? began : Date.parse(now.started_at)
    out.passing(
      `${frames[tick % frames.length]} ${now?.name ?? session.status} ${duration(Math.max(0, io.now() - since))}`,
    )
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'The session does not start', { next: [`svc sessions info ${started.session_id}`] })
}

export async function getPhases(api: ApiClient, session: Pick<Session, 'project_id' | 'session_id'>): Promise<Phase[]> {
  const path = { projectId: session.project_id, sessionId: session.session_id }
  const found = await reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}/timeline', { params: { path } }))
  return found.phases
}

function sayPhase({ out }: Context, phase: Phase): void {
  const took = phase.ms === null ? '' : `  ${duration(phase.ms)}`
  if (phase.error === null) out.progress(green('✓ '), phase.name, dim(took))
  else out.progress(red('✗ '), phase.name, dim(took), `  ${phase.error}`)
}

function notStarted(session: Session): Refusal {
  return new Refusal('session_failed', session.error ?? `The session is ${session.status}`, {
    detail: { session_id: session.session_id, status: session.status },
    next: [`svc sessions info ${session.session_id}`, `svc sessions restart ${session.session_id}`],
  })
}
