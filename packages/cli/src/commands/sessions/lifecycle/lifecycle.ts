import type { Session } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { watchStart } from '../../../conversation/start-phases.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { confirm } from '../../../terminal/ask.ts'
import { bold, dim, green, yellow } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { noteLostWork, sessionArg, shortId, unfinishedLabel } from '../labels.ts'
import type { SessionClient } from '../../../requests.ts'

const discard = {
  discard: { kind: 'switch', summary: 'Even if its newest work cannot be saved, and lose that work' },
} as const
const queryOf = (flags: { discard: boolean }) => ({ discard: flags.discard ? ('true' as const) : undefined })

export const stop = command({
  summary: 'Stop a session and keep its branch',
  scope: 'project',
  args: { id: sessionArg },
  flags: discard,
  examples: ['svc sessions stop 8f3a1c20', 'svc sessions stop 8f3a1c20 --json'],
  async run(ctx, { args, flags }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.post('/stop', { query: queryOf(flags) })
    const { out } = ctx
    if (out.json) return out.document(session)
    const id = shortId(session.session_id, out.terminal)
    out.line(green('✓ '), 'Stopped ', bold(session.name), `  ${id}`)
    out.note(`${ctx.next(`svc sessions restart ${id}`)} restarts it from its branch.`)
  },
})

export const restart = command({
  summary: 'Restart a session from its branch in a new sandbox',
  scope: 'project',
  args: { id: sessionArg },
  flags: {
    agent: { kind: 'text', summary: 'Agent to use from now on (default: the same)', value: 'name' },
    wait: { kind: 'switch', summary: 'Wait until it runs (default on a terminal)' },
    'no-wait': { kind: 'switch', summary: 'Do not wait' },
    ...discard,
  },
  examples: ['svc sessions restart 8f3a1c20', 'svc sessions restart 8f3a1c20 --agent plan --wait'],
  async run(ctx, { args, flags }) {
    if (flags.wait && flags['no-wait']) throw new UsageError("--wait and --no-wait can't be combined")
    const at = await sessionAt(ctx, args.id)
    let session = await at.post('/restart', {
      query: queryOf(flags),
      body: flags.agent === undefined ? undefined : { agent: flags.agent },
    })
    const { out } = ctx
    const { branch_deleted_at: deletedAt, base_ref: base } = session
    if (flags.wait || (out.terminal && !flags['no-wait'])) session = await watchStart(ctx, at)
    out.done(session, 'Restarted ', bold(session.name), `  ${shortId(session.session_id, out.terminal)}`)
    // An older server omits it.
    if (deletedAt != null) out.note(`Its branch was deleted after its merge, so it starts again from ${base}.`)
    if (!out.json) await printContinuation(ctx, at, session)
  },
})

/** A new sandbox begins idle from the branch, so name what brings saved files and the turn back. */
async function printContinuation(ctx: Context, at: SessionClient, session: Session): Promise<void> {
  const { out } = ctx
  const id = shortId(at.id, true)
  const isCut = session.last_turn_error?.code === 'sandbox_ended'
  if (isCut) out.note('The last turn was cut, and the agent waits for a prompt.')
  await noteSavedWork(ctx, at, session.sandbox?.generation)
  if (isCut) out.note(ctx.next(`svc sessions chat ${id} --prompt "continue"`))
}

const noteMsMax = 10_000

/** Work of the start `generation` is in its sandbox; without one, all that is saved is missing there. */
export async function noteSavedWork(ctx: Context, at: SessionClient, generation?: number): Promise<void> {
  const { signal } = ctx.io
  // Only for the note: neither a prompt nor the end of a restart waits long for it, or fails without it.
  const asked = at.get('/wip', { signal: AbortSignal.any([signal, AbortSignal.timeout(noteMsMax)]) })
  const work = await asked.catch((error: unknown) => error as Error)
  signal.throwIfAborted()
  if (work instanceof Error)
    return ctx.out.note(
      `The server did not say whether work is saved: ${ctx.next(`svc sessions info ${shortId(at.id, true)}`)}`,
    )
  if (work.saved_at === null || work.generation === generation) return noteLostWork(ctx.out, work)
  const next = work.returns
    ? 'The start puts it back into the work tree.'
    : ctx.next(`svc sessions recover ${shortId(at.id, true)} --into-sandbox`)
  ctx.out.note(`Saved, and not on the branch: ${unfinishedLabel(work)}. ${next}`)
}

export const refresh = command({
  summary: 'Apply changes of the default branch to a running session',
  about: [
    'Pulls the session branch, applies svc.toml and the agents of the default branch, and restarts the agent runtime. Keeps the conversation and the work tree.',
    'If the agent is working, the refresh waits for the end of its turn.',
  ],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions refresh 8f3a1c20', 'svc sessions refresh 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.post('/refresh')
    if (ctx.out.json) return ctx.out.document(session)
    printRefresh(ctx, session)
  },
})

function printRefresh(ctx: Context, { session_id: sessionId, name, refresh }: Session): void {
  const { out } = ctx
  const id = shortId(sessionId, true)
  if (refresh?.status === 'failed')
    throw new Refusal('session_failed', refresh.error ?? 'The refresh failed.', { next: [`svc sessions info ${id}`] })
  if (refresh?.status === 'waiting') {
    if (refresh.error === null) out.line('The refresh of ', bold(name), ' waits for the end of the turn.')
    else out.line('The refresh of ', bold(name), ' waits: ', refresh.error)
    return out.note(`${ctx.next(`svc sessions info ${id}`)} shows what it changed.`)
  }
  out.line(green('✓ '), 'Refreshed ', bold(name), `  ${shortId(sessionId, out.terminal)}`)
  if (refresh === null) return
  if (refresh.applied.length > 0) out.line(dim('  Applied: '), refresh.applied.join(', '))
  if (refresh.error !== null) out.line('  ', yellow(refresh.error))
  if (refresh.needs_restart.length > 0) {
    out.line(dim('  Needs a restart: '), refresh.needs_restart.join(', '))
    out.note(`${ctx.next(`svc sessions restart ${id}`)} applies the rest.`)
  }
}

export const rm = command({
  summary: 'Stop and delete a session; its branch and its change requests stay',
  scope: 'project',
  args: { id: sessionArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' }, ...discard },
  examples: ['svc sessions rm 8f3a1c20', 'svc sessions rm 8f3a1c20 --yes'],
  async run(ctx, { args, flags }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.get('')
    const wip = await at.get('/wip')
    const lost =
      wip.saved_at === null ? 'Unpushed work will be lost.' : `${unfinishedLabel(wip)} of unpushed work will be lost.`
    await confirm(ctx, {
      question: `Delete the session ${session.name} (${shortId(at.id, true)})? ${lost}`,
      yes: flags.yes,
      corrected: `svc sessions rm ${at.id}${flags.discard ? ' --discard' : ''} --yes`,
    })
    await at.delete('', { query: queryOf(flags) })
    ctx.out.done({ session_id: at.id, removed: true }, 'Deleted ', bold(session.name))
    if (session.branch_deleted_at == null) ctx.out.note(`The branch ${session.branch_name} stays.`)
  },
})
