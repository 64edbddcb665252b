import type { ProjectEvent } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { limitWhenGiven } from '../../arguments/limit.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { endlessEvents, Outage } from '../../event-stream.ts'
import { cyan, dim, green, red, type Styled, yellow } from '../../terminal/output.ts'

const colours: Record<string, (text: string) => Styled> = {
  ...{ merged: green, live: green, clean: green, running: green },
  ...{ failed: red, conflicted: red, missed: red },
  ...{ opened: cyan, moved: cyan, fired: cyan },
  ...{ provisioning: yellow, started: yellow },
}

function typeOf({ type }: ProjectEvent): Styled {
  return (colours[type.split('.')[1] ?? ''] ?? dim)(type)
}

function who({ actor }: ProjectEvent): string {
  if (actor === null) return 'svc'
  return actor.session_id === null ? `user ${actor.user_id.slice(0, 8)}` : `session ${actor.session_id.slice(0, 8)}`
}

function what(event: ProjectEvent): string {
  return parts(event)
    .filter((part) => part !== null && part !== undefined && part !== '')
    .join(', ')
}

function parts(event: ProjectEvent): (string | null | undefined)[] {
  switch (event.type) {
    case 'trigger.fired':
    case 'trigger.missed': {
      const { slug, session_id: session, reason } = event.data
      return [slug, session && `session ${session.slice(0, 8)}`, reason]
    }
    case 'deploy.started':
    case 'deploy.live':
    case 'deploy.failed':
    case 'deploy.stopped': {
      const { app, commit_sha: commit, url, reason } = event.data
      return [app, commit?.slice(0, 12), event.type === 'deploy.live' ? url : null, reason]
    }
    case 'check.started':
    case 'check.finished': {
      const { number, check, status, reason } = event.data
      return [`#${number} ${check}`, status, reason]
    }
    case 'default_branch.moved': {
      const { branch, before, sha } = event.data
      return [`${branch} ${before?.slice(0, 12) ?? 'none'}..${sha?.slice(0, 12) ?? 'none'}`]
    }
    case 'session.provisioning':
    case 'session.running':
    case 'session.turn_ended':
    case 'session.stopped':
    case 'session.failed':
    case 'session.deleted': {
      const { session_id: session, name, reason } = event.data
      return [`${session.slice(0, 8)} ${name}`, reason]
    }
    case 'session.refreshed': {
      const { session_id: session, name, refresh, reason } = event.data
      return [`${session.slice(0, 8)} ${name}`, refresh?.applied.join(', '), reason]
    }
    case 'session.question_asked':
    case 'session.question_answered': {
      const { session_id: session, question, reason } = event.data
      return [`${session.slice(0, 8)} ${question?.title ?? ''}`, question?.status, reason]
    }
    default:
      return ofChangeRequest(event)
  }
}

type OfChangeRequest = Extract<ProjectEvent, { data: { head_ref: string } }>

function ofChangeRequest({ data }: OfChangeRequest): (string | null | undefined)[] {
  // A newer server may send event types this client does not know.
  if (data.number === undefined) return []
  const { number, title, changed, conflicts, review } = data
  return [
    `#${number} ${title}`,
    changed && `new: ${changed.join(' ')}`,
    conflicts && `conflicts: ${conflicts.join(' ')}`,
    review && `${review.comments} comments`,
  ]
}

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
    { io },
    {
      ...{ of: 'the project', after: after === null ? null : String(after), signal },
      outage: new Outage({ io, out }, { isReached: false, next: ['svc events --follow'] }),
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
