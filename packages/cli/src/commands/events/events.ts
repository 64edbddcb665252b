import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { dim } from '../../output.ts'
import { limitWhenGiven } from '../../limit.ts'
import type { ProjectEvent } from '../../wire.ts'
import { follow } from './follow.ts'
import { typeOf, what, who } from './words.ts'

export const events = command({
  summary: 'Show what happened in the project, the newest last',
  about: [
    'Change requests, sessions, triggers, deploys and the default branch; kept for thirty days. With --after they begin after that id, without it they are the newest.',
    'With --follow it begins now, or after that id, and goes on until Ctrl-C, or until it told --limit of them; a connection that breaks is taken up where it broke. With --json and --follow every event is a line.',
  ],
  scope: 'project',
  args: {},
  flags: {
    follow: { kind: 'switch', summary: 'Go on telling what happens' },
    after: { kind: 'text', summary: 'Only what came after this event; 0: everything that is kept', value: 'id' },
    limit: limitWhenGiven,
  },
  examples: ['svc events', 'svc events --follow', 'svc events --follow --after 41 --json'],
  async run(ctx, { flags }) {
    const after = idOf(flags.after)
    const { api, projectId } = await ctx.project()
    if (flags.follow) return tell(ctx, follow(ctx, api, { projectId, after }), flags.limit ?? null)
    const found = await reply(
      api.GET('/v1/projects/{projectId}/events', {
        params: { path: { projectId }, query: { limit: flags.limit ?? 100, ...(after === null ? {} : { after }) } },
        headers: { Accept: 'application/json' },
      }),
    )
    const { out } = ctx
    if (out.json) return out.document(found)
    if (after !== null && after < found.forgotten) out.warn(`Events up to ${found.forgotten} are not kept any more.`)
    if (found.events.length === 0) return out.note(found.last === 0 ? 'Nothing happened yet.' : 'Nothing came after.')
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

async function tell(ctx: Context, told: ReturnType<typeof follow>, limit: number | null): Promise<void> {
  const { out } = ctx
  let count = 0
  for await (const event of told) {
    if (event.type === 'reset') {
      if (out.json) out.documentLine(event)
      else out.warn(`Events before ${event.id + 1} are not there any more: look again at what there is.`)
      continue
    }
    if (out.json) out.documentLine(event)
    else printEvent(ctx, event)
    if (++count === limit) return
  }
}

/** A row that stands alone: the ones to come are not known, so on a terminal the columns have a width of their own. */
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
  throw new UsageError(`--after is the id of an event, a number; not ${JSON.stringify(text)}`, {
    next: ['svc events --after 41', 'svc events --after 0'],
  })
}
