import type { StartPhase as Phase, Session, UnfinishedWork } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { openPage, projectPage, webFlag } from '../../browser/dashboard.ts'
import { bold, dim, red, yellow } from '../../terminal/output.ts'
import { getPhases } from '../../conversation/start-phases.ts'
import { duration } from '../../terminal/time.ts'
import { sessionAt } from './find.ts'
import { sessionArg, sessionPiece, shortId, unfinishedLabel } from './labels.ts'

export const info = command({
  summary: 'Show a session and the phases of its last start',
  scope: 'project',
  args: { id: sessionArg },
  flags: { web: webFlag },
  examples: ['svc sessions info 8f3a1c20', 'svc sessions info 8f3a1c20 --json'],
  async run(ctx, { args, flags }) {
    const at = await sessionAt(ctx, args.id)
    if (flags.web) return openPage(ctx, projectPage(await ctx.projectId(), 'sessions', at.id))
    const [session, phases, unfinished] = await Promise.all([at.get(''), getPhases(at), at.get('/wip')])
    if (ctx.out.json) return ctx.out.document({ session, phases, unfinished_work: unfinished })
    printSession(ctx, session)
    if (session.waiting_for === 'person')
      ctx.out.note(`The agent asks: ${ctx.next(`svc sessions questions ${shortId(at.id, true)}`)}`)
    if (phases.length > 0) printPhases(ctx, phases)
    printUnfinished(ctx, session, unfinished)
  },
})

export function printSession({ out }: Context, session: Session): void {
  out.line(bold(session.name))
  out.fields([
    ['status', sessionPiece(session)],
    session.status === 'failed' ? ['error', red(session.error ?? '')] : ['note', session.error],
    ['last turn', session.last_turn_error === null ? null : red(`failed: ${session.last_turn_error.message}`)],
    ['refresh', refreshWords(session)],
    ['branch', session.branch_name],
    ['base ref', session.base_ref],
    ['agent', session.agent_name],
    ['model', session.model],
    ['sandbox URL', session.sandbox_url],
    [
      'sandbox',
      session.sandbox === null
        ? null
        : `${session.sandbox.driver}, ${session.sandbox.status}, start ${session.sandbox.generation}`,
    ],
    ['started by', session.parent_session_id === null ? null : `session ${session.parent_session_id}`],
    ['created', out.time(session.created_at)],
    ['active', out.time(session.last_active_at)],
    ['id', session.session_id],
  ])
}

function refreshWords({ refresh }: Session) {
  // An older server omits it.
  if (refresh == null) return null
  if (refresh.status === 'waiting')
    return refresh.error === null ? 'waits for the end of the turn' : yellow(`waits: ${refresh.error}`)
  if (refresh.status === 'failed') return red(refresh.error ?? 'failed')
  const needs = refresh.needs_restart.length === 0 ? null : `needs a restart for ${refresh.needs_restart.join(', ')}`
  const words = [refresh.error, needs].filter((text) => text !== null)
  return words.length === 0 ? null : yellow(words.join(' '))
}

function printUnfinished(ctx: Context, session: Session, unfinished: UnfinishedWork): void {
  const { out } = ctx
  const { saved_at: savedAt, commit, generation, earlier } = unfinished
  if (savedAt === null || commit === null || generation === null) return
  out.line()
  out.line(dim('Not pushed'))
  for (const work of [{ ...unfinished, saved_at: savedAt, generation }, ...earlier]) {
    const start = work.generation === session.sandbox?.generation ? '' : `  from start ${work.generation}`
    out.line(`  ${unfinishedLabel(work)}`, dim(`  saved ${out.time(work.saved_at)}${start}`))
    for (const note of work.notes) out.line('  ', yellow(note))
  }
  const id = shortId(session.session_id, true)
  const isOld = session.status === 'running' && generation !== session.sandbox?.generation
  out.note(`${ctx.next(`svc sessions recover ${id}${isOld ? ' --into-sandbox' : ''}`)} recovers it.`)
}

function printPhases({ out }: Context, phases: readonly Phase[]): void {
  out.line()
  out.line(dim('Last start'))
  const width = Math.max(...phases.map((phase) => phase.name.length))
  for (const phase of phases) {
    const took = phase.ms === null ? (phase.error === null ? 'running' : '') : duration(phase.ms)
    const name = `  ${phase.name.padEnd(width)}  `
    if (phase.error === null) out.line(name, dim(took), phase.note == null ? '' : `  ${phase.note}`)
    else out.line(name, dim(took), '  ', red(phase.error))
  }
}
