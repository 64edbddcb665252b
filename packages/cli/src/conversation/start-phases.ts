/** Follows the start of a session and reports its phases on stderr. */
import type { StartPhase as Phase, Session } from '@svc/sdk'
import { shortId } from '../commands/sessions/labels.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { Outage } from '../event-stream.ts'
import { cut, dim, green, red } from '../terminal/output.ts'
import { duration } from '../terminal/time.ts'
import type { SessionClient } from '../requests.ts'

const lookEveryMs = 250
const waitMaxMs = 15 * 60_000
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

/** Resolves when the session runs; throws when it fails. On Ctrl-C, prints how to return to it. */
export async function watchStart(ctx: Context, at: SessionClient): Promise<Session> {
  try {
    return await untilRunning(ctx, at)
  } catch (error) {
    if (!ctx.io.signal.aborted) throw error
    const id = shortId(at.id, true)
    throw new Refusal('cancelled', 'Interrupted. The session keeps starting', {
      next: [`svc sessions chat ${id}`, `svc sessions stop ${id}`],
      cause: error,
    })
  }
}

async function untilRunning(ctx: Context, at: SessionClient): Promise<Session> {
  const { io, out } = ctx
  const began = io.now()
  const outage = new Outage(ctx, { isReached: true, next: [ctx.next(`svc sessions chat ${shortId(at.id, true)}`)] })
  let said = 0
  for (let tick = 0; io.now() - began < waitMaxMs; tick++) {
    const [session, phases] = await outage.until(() => Promise.all([at.get(''), getPhases(at)]))
    // Phases can overlap; print each once it has ended, in order.
    for (; said < phases.length && (phases[said]!.ms !== null || phases[said]!.error !== null); said++) {
      sayPhase(ctx, phases[said]!)
    }
    if (session.status === 'running') {
      // A start may be under way before this command watches it.
      out.progress(green('✓ '), 'running', dim(`  ${duration(Math.max(io.now() - began, spanOf(phases)))} in all`))
      return session
    }
    if (session.status !== 'provisioning' && session.status !== 'queued' && session.status !== 'branching') {
      throw notStarted(session)
    }
    const now = phases[said]
    const since = now === undefined ? began : Date.parse(now.started_at)
    const waited = duration(Math.max(0, io.now() - since))
    const why = now?.note == null ? '' : `  ${now.note}`
    out.passing(cut(`${frames[tick % frames.length]} ${now?.name ?? session.status} ${waited}${why}`, out.columns))
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'The session did not start', { next: [`svc sessions info ${at.id}`] })
}

export async function getPhases(at: SessionClient): Promise<Phase[]> {
  return (await at.get('/timeline')).phases
}

/** From the begin of the first phase to the end of the last, by the clock of the server alone. */
function spanOf(phases: readonly Phase[]): number {
  // The timeline keeps a restore that failed at an earlier start.
  const own = phases
    .filter(({ name }) => name !== 'restore')
    .map((phase) => ({ ...phase, at: Date.parse(phase.started_at) }))
  if (own.length === 0) return 0
  return Math.max(...own.map(({ at, ms }) => at + (ms ?? 0))) - Math.min(...own.map(({ at }) => at))
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
