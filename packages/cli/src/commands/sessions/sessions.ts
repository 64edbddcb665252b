import type { Session, StartPhase as Phase, UnfinishedWork } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { openPage, projectPage, webFlag } from '../../browser/dashboard.ts'
import type { Context } from '../../context.ts'
import { getPhases } from '../../conversation/start-phases.ts'
import { UsageError } from '../../errors.ts'
import { bold, type Column, dim, red, yellow } from '../../terminal/output.ts'
import { duration } from '../../terminal/time.ts'
import { sessionAt } from './find.ts'
import { noteLostWork, sessionArg, sessionPiece, shortId, shownPiece, unfinishedLabel } from './labels.ts'

export const ls = command({
  summary: 'List sessions, newest first',
  scope: 'project',
  flags: {
    status: {
      kind: 'choice',
      summary: 'Status (default: all)',
      choices: ['provisioning', 'running', 'stopped', 'failed', 'all'],
    },
    limit: limitFlag,
  },
  examples: ['svc sessions ls', 'svc sessions ls --status running --json'],
  async run(ctx, { flags }) {
    const { limit } = flags
    const listing = ctx.project.page('/sessions', { query: { status: flags.status ?? 'all', limit } })
    const { out } = ctx
    if (out.json) return out.document((await listing).data)
    const [{ data, cursor }, unfinished] = await Promise.all([listing, ctx.project.get('/unfinished-work')])
    if (data.length === 0)
      return out.note(`No sessions yet. Start one: ${ctx.next('svc sessions new --prompt "<what to do>"')}`)
    const bySession = new Map(unfinished.map((work) => [work.session_id, work]))
    const notPushed: Column<Session> = {
      title: 'NOT PUSHED',
      of: ({ session_id: id }) => (bySession.has(id) ? yellow(unfinishedLabel(bySession.get(id)!)) : ''),
    }
    // Usually everything is pushed, so print nothing.
    const isShown = data.some((session) => bySession.has(session.session_id))
    out.table(data, [...sessionColumns(ctx), ...(isShown ? [notPushed] : [])])
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})

export function sessionColumns({ out }: Context): Column<Session>[] {
  return [
    { title: 'ID', of: (session) => shortId(session.session_id, out.terminal) },
    { title: 'STATUS', of: (session) => shownPiece(session, out.terminal) },
    { title: 'NAME', of: (session) => session.name, shrink: true },
    { title: 'AGENT', of: (session) => session.agent_name },
    { title: 'BASE', of: (session) => session.base_ref, shrink: true },
    { title: 'ACTIVE', of: (session) => out.time(session.last_active_at) },
  ]
}

export const info = command({
  summary: 'Show a session and the phases of its last start',
  scope: 'project',
  args: { id: sessionArg },
  flags: { web: webFlag },
  examples: ['svc sessions info 8f3a1c20', 'svc sessions info 8f3a1c20 --json'],
  async run(ctx, { args, flags }) {
    const at = await sessionAt(ctx, args.id)
    if (flags.web) return openPage(ctx, projectPage(await ctx.projectId(), 'sessions', at.id))
    const [session, phases, unfinished] = await Promise.all([
      at.get('', { query: { include: 'activity' } }),
      getPhases(at),
      at.get('/wip'),
    ])
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
    ['activity', activityWords(out, session)],
    session.status === 'failed' ? ['error', red(session.error ?? '')] : ['note', session.error],
    // A session that ended in a turn has the reason as its own error already.
    [
      'last turn',
      session.last_turn_error === null || session.last_turn_error.message === session.error
        ? null
        : red(`failed: ${session.last_turn_error.message}`),
    ],
    ['refresh', refreshWords(session)],
    ['branch', session.branch_name],
    // An older server omits it.
    [
      'branch deleted',
      session.branch_deleted_at == null
        ? null
        : `${out.time(session.branch_deleted_at)}, after its merge; a restart creates it again from ${session.base_ref}`,
    ],
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
    // An older server omits it.
    ['continues', session.continues == null ? null : `session ${session.continues.session_id}`],
    ['created', out.time(session.created_at)],
    ['active', out.time(session.last_active_at)],
    ['id', session.session_id],
  ])
}

function activityWords(out: Context['out'], session: Session) {
  if (session.asleep_since != null)
    return `the agent fell asleep ${out.terminal ? '' : 'at '}${out.time(session.asleep_since)}; the next prompt wakes it`
  // The answer to a new session omits it.
  if (session.status !== 'running' || session.waiting_for !== null || session.is_busy === undefined) return null
  return session.is_busy ? 'the agent works on a prompt' : 'the agent is idle and waits for a prompt'
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
  noteLostWork(out, unfinished)
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
  if (earlier.length > 0) out.note(`With --start ${earlier[0]!.generation}, it recovers that of an earlier start.`)
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

export const open = command({
  summary: 'Open the page of a session in the browser',
  about: ["Also prints the URL to stdout. SVC_DASHBOARD_URL overrides the dashboard's URL."],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions open 8f3a1c20', 'svc sessions open 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.get('')
    await openPage(ctx, projectPage(session.project_id, 'sessions', session.session_id))
  },
})

export const rename = command({
  summary: 'Rename a session',
  scope: 'project',
  args: { id: sessionArg, name: { summary: 'New name' } },
  examples: ['svc sessions rename 8f3a1c20 "Parser tests"', 'svc sessions rename 8f3a1c20 spike --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.patch('', { body: { name: args.name } })
    ctx.out.done(session, 'Renamed to ', bold(session.name), `  ${shortId(session.session_id, ctx.out.terminal)}`)
  },
})

export const preview = command({
  summary: "Print the preview URL of a session's port",
  about: [
    'The URL works once: the first browser that opens it stays signed in to this port. Run the command again for another browser.',
  ],
  scope: 'project',
  args: { id: sessionArg, port: { summary: 'Port inside the sandbox (default: 3000)', optional: true } },
  examples: ['svc sessions preview 8f3a1c20', 'svc sessions preview 8f3a1c20 5173'],
  async run(ctx, { args }) {
    const port = args.port ?? '3000'
    if (!/^[1-9][0-9]{0,4}$/.test(port) || Number(port) > 65_535)
      throw new UsageError(`${JSON.stringify(port)} is not a port`, { next: [`svc sessions preview ${args.id} 3000`] })
    const at = await sessionAt(ctx, args.id)
    const { url } = await at.get('/preview', { query: { port: Number(port) } })
    if (ctx.out.json) return ctx.out.document({ url, port: Number(port), session_id: at.id })
    ctx.out.line(url)
    ctx.out.note('It works once, in the first browser that opens it.')
  },
})
