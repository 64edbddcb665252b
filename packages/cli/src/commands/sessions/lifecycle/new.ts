import type { ChangeRequest, Session } from '@svc/sdk'
import { abortOnInterrupt } from '../../../conversation/abort-on-interrupt.ts'
import { attachFlag, readAttachments } from '../../../conversation/attachments.ts'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { followTurn } from '../../../conversation/turn.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { bold, dim } from '../../../terminal/output.ts'
import { printConversation } from '../../../conversation/print.ts'
import { valueOrStdin } from '../../../terminal/read-stdin.ts'
import { watchStart } from '../../../conversation/start-phases.ts'
import { changeRequestColumns } from '../../cr/cr.ts'
import { sessionAt } from '../find.ts'
import { printSession } from '../sessions.ts'
import { sessionColumns } from '../sessions.ts'
import { startSession } from './start.ts'
import { shortId } from '../labels.ts'

export const newSession = command({
  summary: 'Start a session on its own branch',
  about: [
    'With --from, the session continues another one on a branch of its own: with the code as it was after a turn, also what was not pushed, and the conversation up to there. svc sessions log <id> --json has the ids of messages.',
    'On a terminal, waits until the session runs; in a pipe, returns at once unless --wait is set.',
    '--follow prints the answer to stdout until the turn ends, then the change requests of the session; the exit code is 1 if the turn fails. Ctrl-C aborts the turn. With --json each event is a line, and the change requests are the last one.',
  ],
  scope: 'project',
  flags: {
    prompt: { kind: 'text', summary: 'First prompt for the agent; - reads stdin', value: 'text' },
    attach: attachFlag,
    name: { kind: 'text', summary: 'Name of the session', value: 'text' },
    agent: { kind: 'text', summary: 'Agent of the project', value: 'name' },
    from: {
      kind: 'text',
      summary: 'Continue from this session: its code and its conversation; it stays as it is',
      value: 'session',
      names: 'session',
    },
    message: {
      kind: 'text',
      summary: 'With --from: continue after the turn of this message (default: the newest)',
      value: 'id',
    },
    base: { kind: 'text', summary: 'Branch to start from (default: the default branch)', value: 'ref' },
    model: {
      kind: 'text',
      summary: "Model, one of svc models ls (default: the agent's or the project's)",
      value: 'name',
      names: 'model',
    },
    wait: { kind: 'switch', summary: 'Wait until it runs' },
    'no-wait': { kind: 'switch', summary: 'Do not wait' },
    follow: { kind: 'switch', summary: 'Follow the turn until it ends' },
  },
  examples: [
    'svc sessions new --prompt "Fix the failing test"',
    'svc sessions new --prompt "Fix the failing test" --follow',
    'svc sessions new --name spike --base develop --no-wait',
    'svc sessions new --from 8f3a1c20 --prompt "Try it without a new package"',
  ],
  async run(ctx, { flags }) {
    if (flags.wait && flags['no-wait']) throw new UsageError("--wait and --no-wait can't be combined")
    if (flags.follow && flags['no-wait']) throw new UsageError("--follow and --no-wait can't be combined")
    if (flags.follow && flags.prompt === undefined)
      throw new UsageError('--follow needs --prompt <text>', {
        hint: 'Without a prompt there is no turn.',
        next: ['svc sessions new --prompt "<text>" --follow', 'svc sessions chat --new'],
      })
    if (flags.message !== undefined && flags.from === undefined)
      throw new UsageError('--message needs --from <session>', { next: ['svc sessions ls'] })
    if (flags.from !== undefined && flags.base !== undefined)
      throw new UsageError("--from and --base can't be combined: the code comes from that session")
    const { out } = ctx
    const wait = flags.wait || (out.terminal && !flags['no-wait'])
    const prompt = flags.prompt === undefined ? undefined : await valueOrStdin(ctx.io, flags.prompt, 'the prompt')
    if (flags.attach.length > 0 && prompt === undefined)
      throw new UsageError('--attach needs --prompt: the files go with it')
    const files = await readAttachments(ctx.io, flags.attach)
    const from = flags.from === undefined ? undefined : (await sessionAt(ctx, flags.from)).id
    let session = await startSession(ctx, {
      ...(from === undefined ? {} : { from: { session_id: from, message_id: flags.message } }),
      initial_prompt: prompt,
      ...files,
      name: flags.name,
      agent_name: flags.agent,
      base_ref: flags.base,
      model: flags.model,
    })
    if (flags.follow) return followSession(ctx, session)
    if (wait) session = await watchStart(ctx, ctx.project.session(session.session_id))
    if (out.json) return out.document(session)
    if (!out.terminal) out.table([session], sessionColumns(ctx))
    else {
      out.line()
      printSession(ctx, session)
    }
    const id = shortId(session.session_id, true)
    out.note([`svc sessions chat ${id}`, `svc sessions info ${id}`, 'svc cr ls'].map(ctx.next).join(' · '))
  },
})

async function followSession(ctx: Context, started: Session): Promise<void> {
  const { out } = ctx
  const { session_id: sessionId } = started
  const at = ctx.project.session(sessionId)
  const id = shortId(sessionId, true)
  out.progress(bold(started.name), dim(`  ${id}`))
  await watchStart(ctx, at)
  const printer = printConversation(ctx, { sessionId })
  const { release } = abortOnInterrupt(ctx, at, printer)
  let failure: Refusal | null = null
  try {
    await followTurn(ctx, at, null, printer)
  } catch (error) {
    // Show its change requests even if the turn failed.
    if (!(error instanceof Refusal) || error.code !== 'turn_failed') throw error
    failure = error
  } finally {
    release()
  }
  await printProposed(ctx, started)
  if (failure !== null) throw new Refusal('turn_failed', failure.message, { next: [`svc sessions log ${id}`] })
}

async function printProposed(ctx: Context, session: Session): Promise<void> {
  const { out } = ctx
  const found = await ctx.project.get('/change-requests', { query: { status: 'all', limit: 100 } })
  const isOwn = (cr: ChangeRequest) => cr.origin_session_id === session.session_id
  const proposed = found.change_requests.filter(isOwn)
  if (out.json) return out.documentLine({ type: 'change_requests', change_requests: proposed })
  const id = shortId(session.session_id, true)
  out.progress('')
  if (proposed.length === 0) {
    out.note('No change request was opened.')
    return out.note(
      ctx.next(`svc sessions chat ${id}`),
      ' · ',
      ctx.next(`svc cr open --head ${session.branch_name} --title "<title>"`),
    )
  }
  out.table(proposed, changeRequestColumns(ctx))
  const [{ number }] = proposed as [ChangeRequest]
  out.note([`svc cr show ${number}`, `svc cr diff ${number}`, `svc sessions chat ${id}`].map(ctx.next).join(' · '))
}
