/** The inbox lists the work that needs a person, across the projects of their accounts. */
import { z } from 'zod'
import { named, ok, page, route, timestamp, uuid } from '../route.ts'
import { recentSeconds } from './events.ts'
import { questionKinds } from './questions.ts'

/** In the order of the inbox. */
export const inboxGroups = ['answer', 'review', 'unblock', 'running'] as const
export type InboxGroup = (typeof inboxGroups)[number]

export const inboxStates = [
  ...questionKinds,
  'ready',
  'confirm',
  'base_merged',
  'answered',
  'collides',
  'checking',
  'unreachable',
  'empty',
  'conflicts',
  'branch_deleted',
  'manifest_invalid',
  'failing',
  'failed',
  'turn_failed',
  'starting',
  'working',
  'idle',
] as const
export type InboxState = (typeof inboxStates)[number]
export const inboxKinds = ['question', 'approval', 'change_request', 'session'] as const

export const inboxItem = named('InboxItem', {
  key: z.string().describe('Names the item as long as it exists, such as `change_request.<id>`.'),
  kind: z.enum(inboxKinds),
  group: z.enum(inboxGroups).describe('What it needs.'),
  state: z
    .enum(inboxStates)
    .describe(
      '`checking`: the server does not know yet whether it merges, or its checks run. `confirm`: ready, except that a person has to confirm effects of the merge. `base_merged`: ready, but its base was merged elsewhere without it.',
    ),
  version: z.string().describe('Changes when the item needs a new look. Send it back to put the item away.'),
  project: z.object({ project_id: uuid, slug: z.string(), name: z.string() }),
  title: z.string(),
  why: z.string().describe('One line: why it is here.'),
  task: z.string().nullable().describe('The beginning of the first prompt of a session.'),
  number: z.number().int().nullable().describe('The number of a change request.'),
  cr_id: uuid.nullable(),
  question_id: uuid.nullable(),
  session: z
    .object({ session_id: uuid, name: z.string(), agent_name: z.string() })
    .nullable()
    .describe('The session that asks, that made the change request, or that failed.'),
  author: z.string().nullable().describe('The name of the user behind it.'),
  additions: z.number().int().nullable().describe('Null: not known yet, or too long to count.'),
  deletions: z.number().int().nullable(),
  updated_at: timestamp,
  snoozed_until: timestamp.nullable(),
})
export type InboxItem = z.infer<typeof inboxItem>

export const inboxViews = ['open', 'snoozed', 'done'] as const
export type InboxView = (typeof inboxViews)[number]

const counts = named('InboxCounts', {
  answer: z.number().int(),
  review: z.number().int(),
  unblock: z.number().int(),
  running: z.number().int(),
})

/** The most items of one group in an answer that has all groups. */
const perGroupMax = 200

export const getInboxRoute = route.get('user', '/v1/inbox', {
  name: 'getInbox',
  summary: 'List what needs the caller',
  description:
    'Questions to answer, change requests to review, what is blocked, and the sessions that run, in the projects of the accounts of the caller. `unblock` has conflicts, failed checks, an invalid svc.toml where the project requires a valid one, and failed sessions. Drafts are left out, and so are change requests whose agent works on a review of the caller. Groups come in this order, each newest first; `per_group` lists the first items of each group instead of pages. A viewer sees sessions only.',
  query: page.extend({
    account_id: z.string().optional().describe('Only the projects of this account.'),
    project_id: z.string().optional().describe('Only this project.'),
    view: z.enum(inboxViews).default('open').describe('`snoozed` and `done` list what the caller put away.'),
    group: z.enum(inboxGroups).optional(),
    per_group: z.coerce
      .number()
      .int()
      .min(1)
      .max(perGroupMax)
      .optional()
      .describe('The most items of each group. The answer is then one page, and `counts` says how many there are.'),
  }),
  reply: z.object({
    items: z.array(inboxItem),
    counts: counts.describe('The items of this view in each group, on all pages.'),
    snoozed: z.number().int(),
    done: z.number().int(),
  }),
})
export type Inbox = z.infer<typeof getInboxRoute.reply>

export const openWork = named('OpenWork', {
  project_id: uuid,
  change_requests: z.number().int().nullable().describe('The open change requests, with drafts. Null for a viewer.'),
  sessions: z.number().int().describe('The live sessions: those that run, and those on their way to it.'),
  needs_you: z.number().int().describe('The items to answer, to review and to unblock in the inbox of the caller.'),
})
export type OpenWork = z.infer<typeof openWork>

/** As many as a page of the list of projects has. */
export const openWorkMax = 1000

export const countOpenWorkRoute = route.get('user', '/v1/inbox/projects', {
  name: 'countOpenWork',
  summary: 'Count what is open in each project',
  description: `One row for each project of the accounts of the caller in which something is open, the newest project first, for the newest ${openWorkMax} of them.`,
  reply: z.array(openWork),
})

export const putAwayInboxItemRoute = route.put('user', '/v1/inbox/:key', {
  name: 'putAwayInboxItem',
  summary: 'Mark an item of the inbox as done, or snooze it',
  description:
    'Hides the item from the inbox of the caller. It comes back at `until`, or as soon as it changes: new commits, a new conflict, a failed check, another failure. 404 when it no longer needs the caller.',
  body: z.object({
    version: z.string().max(200).describe('The version that was shown. If the item has changed since, it stays.'),
    until: timestamp.nullable().default(null).describe('When it comes back. Null: it is done.'),
  }),
  example: { body: { version: '6dd1f5a4~conflicts', until: null } },
  reply: ok,
})

export const restoreInboxItemRoute = route.delete('user', '/v1/inbox/:key', {
  name: 'restoreInboxItem',
  summary: 'Return an item to the inbox',
  description: 'Undoes "done" and snoozing. 404 when the item was not put away.',
  reply: ok,
})

export const inboxMark = named('InboxMark', {
  type: z
    .enum(['ready', 'changed'])
    .describe('`ready`: the stream has begun; read the inbox. `changed`: read it again.'),
  project_ids: z.array(uuid).describe('The projects that the stream follows, or in which something happened.'),
})

export const streamInboxRoute = route.get('user', '/v1/inbox/events', {
  name: 'streamInbox',
  summary: 'Stream that the inbox changed',
  description:
    'Server-sent events for all projects of the caller in one stream: the first is `ready`, and `changed` says that something happened in a project. Reconnect to follow projects that were created since. `Accept: application/json` returns the projects that the stream follows.',
  stream: true,
  replyTypes: ['text/event-stream', 'application/json'],
  event: inboxMark,
  query: z.object({ recent: recentSeconds }),
  reply: inboxMark,
})
