import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { MessageChanges, type ToolPart } from '../../../conversation/message-changes.ts'
import { printConversation, runningLine } from '../../../conversation/print.ts'
import { dim } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { readTranscript, type Transcript } from './transcript.ts'
import { transcriptMarkdown } from './transcript-markdown.ts'
import { sessionArg, shortId } from '../labels.ts'

export const log = command({
  summary: 'Print the conversation of a session, also after it stopped',
  about: [
    'Prints prompts with their authors, answers, tool calls, questions and errors, oldest first. A call that runs right now is the last one, with … --markdown prints a document, including the input and output of tools.',
  ],
  scope: 'project',
  args: { id: sessionArg },
  flags: {
    markdown: { kind: 'switch', summary: 'As a Markdown document' },
    limit: {
      kind: 'number',
      summary: 'Number of last messages (default: all; at most 1000)',
      value: 'n',
      min: 1,
      max: 1000,
      short: 'L',
    },
  },
  examples: ['svc sessions log 8f3a1c20', 'svc sessions log 8f3a1c20 --markdown > conversation.md'],
  async run(ctx, { args, flags }) {
    const { out } = ctx
    if (out.json && flags.markdown) throw new UsageError("--markdown and --json can't be combined")
    const at = await sessionAt(ctx, args.id)
    const transcript = await readTranscript(at, flags.limit)
    const { messages, questions, prompts, entries, isCut } = transcript
    if (out.json) return out.document({ messages, questions, prompts })
    if (flags.markdown) return out.block(transcriptMarkdown(transcript))
    const id = shortId(at.id, true)
    const deletedAt = transcript.session.transcript_deleted_at ?? null
    if (deletedAt !== null && !isCut)
      out.note(`Messages from before ${out.time(deletedAt)} were deleted, as old as this server keeps them.`)
    if (entries.length === 0) return out.note(`No messages yet: ${ctx.next(`svc sessions chat ${id}`)}`)
    if (isCut) out.note(`Earlier messages: ${ctx.next(`svc sessions log ${id}`)}`)
    printTranscript(ctx, transcript)
    if (transcript.session.status === 'running' && transcript.session.is_busy === true)
      out.note(`The agent works on a prompt. To follow it: ${ctx.next(`svc sessions watch ${id}`)}`)
  },
})

function printTranscript(ctx: Context, { session, entries }: Pick<Transcript, 'session' | 'entries'>): void {
  const printer = printConversation(ctx, { whole: true, sessionId: session.session_id })
  let isOver = false
  // A call that was cut off is printed like one that ended. One that runs stays on the screen, unlike in a stream.
  const toolRunning = (part: ToolPart) =>
    isOver
      ? printer.tool?.(part)
      : ctx.out.line(runningLine(part, ctx.out.terminal ? ctx.out.width - 9 : Infinity), dim('  running'))
  const changes = new MessageChanges({ ...printer, toolRunning })
  for (const entry of entries) {
    changes.endText()
    if (entry.kind === 'failure') printer.failed?.(entry.reason)
    else if (entry.kind === 'answer') {
      isOver = entry.isOver
      changes.take(entry.message)
      if (entry.message.error === null) continue
      changes.endText()
      printer.failed?.(entry.message.error)
    } else if (entry.kind === 'question') printer.question?.(entry.question)
    else {
      printer.prompt?.(entry.text, `${entry.by}, ${ctx.out.time(entry.at)}`, entry.files)
      if (entry.kind === 'waiting') ctx.out.note('Queued: not delivered to the agent yet.')
      else if (entry.error !== null) printer.failed?.(entry.error)
    }
  }
  changes.endText()
}
