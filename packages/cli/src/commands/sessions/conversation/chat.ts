import type { Session } from '@svc/sdk'
import { abortOnInterrupt } from '../../../conversation/abort-on-interrupt.ts'
import { pick } from '../../../terminal/ask.ts'
import { attachFlag, readAttachments } from '../../../conversation/attachments.ts'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { followTurn } from '../../../conversation/turn.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { printConversation } from '../../../conversation/print.ts'
import { valueOrStdin } from '../../../terminal/read-stdin.ts'
import { watchStart } from '../../../conversation/start-phases.ts'
import { ago } from '../../../terminal/time.ts'
import { allSessions, resolveSessionId } from '../find.ts'
import { noteSavedWork } from '../lifecycle/lifecycle.ts'
import { startSession } from '../lifecycle/start.ts'
import { isStarting } from '../labels.ts'

export const chat = command({
  summary: 'Talk with the agent of a session',
  about: [
    'With --prompt, sends one prompt: the answer goes to stdout, tool calls and progress to stderr. Otherwise opens a conversation, in which Ctrl-C aborts the turn and Ctrl-D leaves.',
  ],
  scope: 'project',
  args: {
    id: {
      summary: 'Session id (default: the only running one; on a terminal a picker)',
      names: 'session',
      optional: true,
    },
  },
  flags: {
    prompt: { kind: 'text', summary: 'Send one prompt; - reads stdin', value: 'text' },
    attach: attachFlag,
    agent: { kind: 'text', summary: 'Agent from this prompt on, with --prompt', value: 'name' },
    model: {
      kind: 'text',
      summary: 'Model from this prompt on, with --prompt; `default` is the default',
      value: 'name',
    },
    new: { kind: 'switch', summary: 'Start a new session' },
  },
  examples: [
    'svc sessions chat 8f3a1c20',
    'svc sessions chat --new --prompt "Which tests fail, and why?"',
    'svc sessions chat 8f3a1c20 --prompt "Match this mockup" --attach mockup.png',
  ],
  async run(ctx, { args, flags }) {
    if (flags.new && args.id !== undefined) throw new UsageError("--new starts a session, so it can't take an <id>")
    if (flags.prompt === undefined && !ctx.interactive)
      throw new UsageError('Missing --prompt <text>', {
        hint: 'A conversation needs a terminal; without one, send a single prompt.',
        next: [`svc sessions chat ${args.id ?? '<id>'} --prompt "<text>"`],
      })
    const prompt = flags.prompt === undefined ? null : await valueOrStdin(ctx.io, flags.prompt, 'the prompt')
    if (prompt !== null && prompt.trim() === '') throw new UsageError('--prompt is empty')
    if (prompt === null && (flags.agent ?? flags.model) !== undefined)
      throw new UsageError('--agent and --model need --prompt', {
        next: [`svc sessions chat ${args.id ?? '<id>'} --prompt "<text>" --agent <name>`],
      })
    const files = await readAttachments(ctx.io, flags.attach)
    const session = flags.new ? await startSession(ctx, {}) : await chooseSession(ctx, args.id)
    const at = ctx.project.session(session.session_id)
    if (isStarting(session)) await watchStart(ctx, at)
    else if (session.status !== 'running') {
      ctx.out.progress(`The session is ${session.status}: the prompt restarts it from its branch.`)
      await noteSavedWork(ctx, at)
    }
    if (prompt === null) {
      const { converse } = await import('../../../conversation/prompt-loop.ts')
      return converse(ctx, at, session.last_turn_error?.message ?? null, files)
    }
    // Ctrl-C cancels the answer: take back the prompt or abort its turn before leaving.
    const printer = printConversation(ctx, { sessionId: session.session_id })
    const { release, waiting } = abortOnInterrupt(ctx, at, printer)
    try {
      const sent = { text: prompt, ...choiceOf(flags.agent, flags.model), ...files }
      await followTurn(ctx, at, sent, { ...printer, waiting })
    } finally {
      release()
    }
  },
})

function choiceOf(agent: string | undefined, model: string | undefined) {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model: model === 'default' ? null : model }),
  }
}

async function chooseSession(ctx: Context, given: string | undefined): Promise<Session> {
  const { project } = ctx
  if (given !== undefined) return project.session(await resolveSessionId(project, given)).get('')
  const all = await allSessions(project)
  const alive = all.filter((session) => session.status === 'running' || isStarting(session))
  if (alive.length === 1) return alive[0]!
  const choices = all.filter((session) => session.status !== 'failed')
  if (choices.length === 0)
    throw new Refusal('not_found', 'This project has no sessions', {
      next: ['svc sessions chat --new', 'svc sessions new --prompt "<what to do>"'],
    })
  return pick(ctx, {
    question: 'Which session?',
    missing: '<id>: the project has several sessions',
    corrected: 'svc sessions chat <id> --prompt "<text>"',
    choices: choices.map((session) => ({
      value: session,
      label: `${session.session_id.slice(0, 8)}  ${session.name}`,
      hint: `${session.status}, ${ago(session.last_active_at, ctx.io.now())}`,
    })),
  })
}
