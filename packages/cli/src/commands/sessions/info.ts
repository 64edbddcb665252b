import type { Phase, Session, UnfinishedWork } from '../../wire.ts'
import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { openPage, projectPage, webFlag } from '../../dashboard.ts'
import { bold, dim, red, yellow } from '../../output.ts'
import { getPhases } from '../../start-phases.ts'
import { duration } from '../../time.ts'
import { getSession, resolveSessionId } from './find.ts'
import { sessionArg, sessionPiece, shortId, unfinishedWords } from './words.ts'

export const info = command({
  summary: 'Show a session and how its last start went',
  scope: 'project',
  args: { id: sessionArg },
  flags: { web: webFlag },
  examples: ['svc sessions info 8f3a1c20', 'svc sessions info 8f3a1c20 --json'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const sessionId = await resolveSessionId(api, projectId, args.id)
    if (flags.web) return openPage(ctx, projectPage(projectId, 'sessions', sessionId))
    const [session, phases, unfinished] = await Promise.all([
      getSession(api, projectId, sessionId),
      getPhases(api, { project_id: projectId, session_id: sessionId }),
      reply(
        api.GET('/v1/projects/{projectId}/sessions/{sessionId}/wip', { params: { path: { projectId, sessionId } } }),
      ),
    ])
    if (ctx.out.json) return ctx.out.document({ session, phases, unfinished_work: unfinished })
    printSession(ctx, session)
    if (session.waiting_for === 'person')
      ctx.out.note(`The agent asks: ${ctx.next(`svc sessions questions ${shortId(sessionId, true)}`)}`)
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

function printUnfinished(ctx: Context, session: Session, unfinished: UnfinishedWork): void {
  const { out } = ctx
  const { saved_at: savedAt, commit, generation, earlier } = unfinished
  if (savedAt === null || commit === null || generation === null) return
  out.line()
  out.line(dim('Not pushed'))
  for (const work of [{ ...unfinished, saved_at: savedAt, generation }, ...earlier]) {
    const start = work.generation === session.sandbox?.generation ? '' : `  from start ${work.generation}`
    out.line(`  ${unfinishedWords(work)}`, dim(`  saved ${out.time(work.saved_at)}${start}`))
    for (const note of work.notes) out.line('  ', yellow(note))
  }
  const id = shortId(session.session_id, true)
  const isOld = session.status === 'running' && generation !== session.sandbox?.generation
  out.note(`${ctx.next(`svc sessions recover ${id}${isOld ? ' --into-sandbox' : ''}`)} brings it back.`)
}

function printPhases({ out }: Context, phases: readonly Phase[]): void {
  out.line()
  out.line(dim('Last start'))
  const width = Math.max(...phases.map((phase) => phase.name.length))
  for (const phase of phases) {
    const took = phase.ms === null ? (phase.error === null ? 'running' : '') : duration(phase.ms)
    const name = `  ${phase.name.padEnd(width)}  `
    if (phase.error === null) out.line(name, dim(took))
    else out.line(name, dim(took), '  ', red(phase.error))
  }
}
