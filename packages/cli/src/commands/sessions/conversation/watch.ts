import { command } from '../../../arguments/command.ts'
import { Refusal } from '../../../errors.ts'
import { bold, dim } from '../../../terminal/output.ts'
import { printConversation } from '../../../conversation/print.ts'
import { watchConversation } from '../../../conversation/watch.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId, shownPiece } from '../labels.ts'

export const watch = command({
  summary: 'Follow the conversation of a session',
  about: [
    'Prints the last messages, then new ones until Ctrl-C: prompts, answers, tool calls, questions and errors. --once ends with the current turn; the exit code is 1 if it fails. Leaving does not affect the session.',
    'With --json each event is a line.',
  ],
  scope: 'project',
  args: { id: sessionArg },
  flags: {
    once: { kind: 'switch', summary: 'End with the current turn, or at once if none is running' },
    limit: {
      kind: 'number',
      summary: 'Number of messages to start with (default: 20)',
      value: 'n',
      min: 1,
      max: 1000,
      usual: 20,
      short: 'L',
    },
  },
  examples: ['svc sessions watch 8f3a1c20', 'svc sessions watch 8f3a1c20 --once --json'],
  async run(ctx, { args, flags }) {
    const { io, out } = ctx
    const at = await sessionAt(ctx, args.id)
    const session = await at.get('')
    const id = shortId(at.id, true)
    out.progress(bold(session.name), dim(`  ${id}  `), shownPiece(session, true))
    if (!flags.once) out.note('Ctrl-C leaves; the session keeps running.')
    const printer = printConversation(ctx, { whole: true, sessionId: at.id })
    const options = { messages: flags.limit, untilIdle: flags.once, signal: io.signal }
    try {
      await watchConversation(ctx, at, options, printer)
    } catch (error) {
      if (!io.signal.aborted) throw error
      printer.interrupted()
      if (flags.once) throw new Refusal('cancelled', 'Left before the turn ended', { cause: error })
    }
    out.note(ctx.next(`svc sessions chat ${id}`))
  },
})
