import type { ApiClient } from '@svc/contract/api'
import type { Session } from '../../wire.ts'
import { pick } from '../../ask.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { abortTurn, followTurn } from '../../conversation.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { printConversation } from '../../print-conversation.ts'
import { valueOrStdin } from '../../read-stdin.ts'
import { watchStart } from '../../start-phases.ts'
import { red } from '../../output.ts'
import { ago } from '../../time.ts'
import { allSessions, getSession, resolveSessionId } from './find.ts'
import { startSession } from './start.ts'
import { isStarting } from './words.ts'

export const chat = command({
  summary: 'Talk with the agent of a session',
  about: [
    'With --prompt it asks once: the answer goes to stdout, tool calls and progress to stderr. Without it a conversation begins; Ctrl-C aborts what the agent is doing, Ctrl-D leaves.',
  ],
  scope: 'project',
  args: {
    id: {
      summary: 'Session id (default: the only one that runs; on a terminal a picker)',
      names: 'session',
      optional: true,
    },
  },
  flags: {
    prompt: { kind: 'text', summary: 'Ask this once; - reads stdin', value: 'text' },
    new: { kind: 'switch', summary: 'In a new session' },
  },
  examples: ['svc sessions chat 8f3a1c20', 'svc sessions chat --new --prompt "Which tests fail, and why?"'],
  async run(ctx, { args, flags }) {
    if (flags.new && args.id !== undefined) throw new UsageError('--new starts a session, so it takes no <id>')
    if (flags.prompt === undefined && !ctx.interactive)
      throw new UsageError('Missing --prompt <text>', {
        hint: 'Without a terminal there is no conversation, only one question.',
        next: [`svc sessions chat ${args.id ?? '<id>'} --prompt "<text>"`],
      })
    const prompt = flags.prompt === undefined ? null : await valueOrStdin(ctx.io, flags.prompt, 'the prompt')
    if (prompt !== null && prompt.trim() === '') throw new UsageError('--prompt is empty')
    const { api, projectId } = await ctx.project()
    const session = flags.new
      ? await startSession(ctx, api, projectId, {})
      : await chooseSession(ctx, api, projectId, args.id)
    if (isStarting(session)) await watchStart(ctx, api, session)
    else if (session.status !== 'running')
      ctx.out.progress(`The session is ${session.status}: the prompt starts it again.`)
    const where = { projectId, sessionId: session.session_id }
    if (prompt === null) {
      const { converse } = await import('../../converse.ts')
      const failed = session.last_turn_error
      if (failed !== null) ctx.out.progress(red('The last turn failed: '), failed.message)
      return converse(ctx, api, where)
    }
    // Ctrl-C means that the answer is not wanted any more: the agent is told before we leave.
    const printer = printConversation(ctx)
    const release = ctx.io.onInterrupt(() => {
      release()
      void abortTurn(api, where).catch(() => {})
      printer.interrupted()
      ctx.out.progress('Aborting… Ctrl-C again leaves.')
    })
    try {
      await followTurn(ctx.io, api, where, prompt, printer)
    } finally {
      release()
    }
  },
})

async function chooseSession(
  ctx: Context,
  api: ApiClient,
  projectId: string,
  given: string | undefined,
): Promise<Session> {
  if (given !== undefined) return getSession(api, projectId, await resolveSessionId(api, projectId, given))
  const all = await allSessions(api, projectId)
  const alive = all.filter((session) => session.status === 'running' || isStarting(session))
  if (alive.length === 1) return alive[0]!
  const choices = all.filter((session) => session.status !== 'failed')
  if (choices.length === 0)
    throw new Refusal('not_found', 'There is no session to talk with', {
      next: ['svc sessions chat --new', 'svc sessions new --prompt "<what to do>"'],
    })
  return pick(ctx, {
    question: 'Which session?',
    missing: '<id>: more than one session could be meant',
    corrected: 'svc sessions chat <id> --prompt "<text>"',
    choices: choices.map((session) => ({
      value: session,
      label: `${session.session_id.slice(0, 8)}  ${session.name}`,
      hint: `${session.status}, ${ago(session.last_active_at, ctx.io.now())}`,
    })),
  })
}
