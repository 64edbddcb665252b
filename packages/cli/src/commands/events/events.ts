import type { ProjectEvent } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { dim } from '../../terminal/output.ts'
import { limitWhenGiven } from '../../arguments/limit.ts'
import { typeOf, what, who } from './labels.ts'
import { endlessEvents } from '../../event-stream.ts'

export const events = command({
  summary: 'Show the events of the project, newest last',
  about: [
    'Events of change requests, sessions, triggers, deploys and the default branch, kept for thirty days. Shows the newest, or with --after those after that id.',
    '--follow starts now, or after that id, and continues until Ctrl-C or --limit events; it resumes after a broken connection. With --json and --follow each event is a line.',
  ],
  scope: 'project',
  flags: {
    follow: { kind: 'switch', summary: 'Keep printing new events' },
    after: { kind: 'text', summary: 'Only events after this id; 0: every stored event', value: 'id' },
    limit: limitWhenGiven,
  },
  examples: ['svc events', 'svc events --follow', 'svc events --follow --after 41 --json'],
  async run(ctx, { flags }) {
    const after = idOf(flags.after)
    if (flags.follow) return printEvents(ctx, follow(ctx, after), flags.limit ?? null)
    const found = await ctx.project.get('/events', {
      query: { limit: flags.limit ?? 100, after: after ?? undefined },
      headers: { Accept: 'application/json' },
    })
    const { out } = ctx
    if (out.json) return out.document(found)
    if (after !== null && after < found.forgotten) out.warn(`Events up to ${found.forgotten} are no longer stored.`)
    if (found.events.length === 0) return out.note(found.last === 0 ? 'No events yet.' : 'No later events.')
    out.table(found.events, [
      { title: 'ID', of: (event) => String(event.id) },
      { title: 'WHEN', of: (event) => out.time(event.created_at) },
      { title: 'EVENT', of: typeOf },
      { title: 'BY', of: who },
      { title: 'WHAT', of: what, shrink: true },
    ])
    const newest = found.events.at(-1)!.id
    if (after !== null && newest < found.last) out.note(`There are more: ${ctx.next(`svc events --after ${newest}`)}`)
  },
})

async function printEvents(ctx: Context, stream: ReturnType<typeof follow>, limit: number | null): Promise<void> {
  const { out } = ctx
  let count = 0
  for await (const event of stream) {
    if (event.type === 'reset') {
      if (out.json) out.documentLine(event)
      else out.warn(`Events before ${event.id + 1} are no longer stored: read the current state again.`)
      continue
    }
    if (out.json) out.documentLine(event)
    else printEvent(ctx, event)
    if (++count === limit) return
  }
}

/** A row printed on its own. Later rows are unknown, so columns have fixed widths on a terminal. */
function printEvent({ out }: Context, event: ProjectEvent): void {
  const wide = (text: string, width: number) => (out.terminal ? text.padEnd(width) : text)
  const { text, ...style } = typeOf(event)
  out.table(
    [event],
    [
      { title: '', of: () => wide(String(event.id), 5) },
      { title: '', of: () => (out.terminal ? dim(event.created_at.slice(11, 19)) : event.created_at) },
      { title: '', of: () => ({ ...style, text: wide(text, 25) }) },
      { title: '', of: () => wide(who(event), 16) },
      { title: '', of: what, shrink: true },
    ],
    { titles: false },
  )
}

function idOf(text: string | undefined): number | null {
  if (text === undefined) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`--after must be the id of an event, a number, not ${JSON.stringify(text)}`, {
    next: ['svc events --after 41', 'svc events --after 0'],
  })
}

/** The server no longer has the events after `id`, or the id belongs to another project. */
interface Reset {
  type: 'reset'
  id: number
}

export async function* follow(
  { io, out, project }: Context,
  after: number | null,
): AsyncGenerator<ProjectEvent | Reset> {
  const { signal } = io
  const stream = endlessEvents(
    { io, out },
    {
      of: 'the project',
      after: after === null ? null : String(after),
      signal,
      open: (headers) => project.stream('/events', { headers, signal }),
    },
  )
  let hasBegun = false
  for await (const { event, data } of stream) {
    if (!hasBegun) out.note('Following. Ctrl-C ends it.')
    hasBegun = true
    if (event !== 'ready') yield parse(data)
  }
}

function parse(data: string): ProjectEvent | Reset {
  try {
    return JSON.parse(data) as ProjectEvent | Reset
  } catch (error) {
    throw new Refusal('bad_answer', 'An event of the project is not JSON', { cause: error })
  }
}
