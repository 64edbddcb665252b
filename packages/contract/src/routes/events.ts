import { z } from 'zod'
import { changeRequestStatuses } from '../schemas/change-request-moves.ts'
import { checkStatus } from './checks.ts'
import {
  changeRequestEventTypes,
  checkEventTypes,
  deployEventTypes,
  sessionEventTypes,
  triggerEventTypes,
} from '../schemas/event-types.ts'
import { questionKinds, questionStatuses } from './questions.ts'
import { named, route, timestamp, uuid } from '../route.ts'
import { sessionRefresh } from './sessions.ts'

export { type ProjectEventType, projectEventTypes } from '../schemas/event-types.ts'

/** Titles and reasons in an event are cut to this many characters. */
export const eventTextMax = 500
export const eventPathsMax = 20

const changeRequestData = named('ChangeRequestEventData', {
  cr_id: uuid,
  number: z.number().int(),
  title: z.string(),
  status: z.enum(changeRequestStatuses),
  base_ref: z.string(),
  head_ref: z.string(),
  base_commit_sha: z.string().nullable(),
  head_commit_sha: z.string().nullable(),
  merge_commit_sha: z.string().nullable(),
  origin_session_id: z.string().nullable(),
  changed: z
    .array(z.string())
    .optional()
    .describe(
      'For `updated`: the fields that changed, of `head`, `head_branch`, `title`, `description`, `metadata` and `reviews`. `head_branch`: the head branch was deleted after the merge.',
    ),
  conflicts: z.array(z.string()).optional().describe('For `conflicted`: the first paths that conflict.'),
  review: z
    .object({ review_id: uuid, comments: z.number().int(), session_id: uuid.nullable() })
    .optional()
    .describe('For `reviewed`.'),
})

const sessionData = named('SessionEventData', {
  session_id: uuid,
  name: z.string(),
  agent_name: z.string(),
  branch_name: z.string(),
  generation: z.number().int(),
  reason: z
    .string()
    .nullable()
    .describe('Why the session stopped or failed, why its turn or refresh failed, or why its question expired.'),
  question: z
    .object({
      question_id: uuid,
      kind: z.enum(questionKinds),
      title: z.string(),
      status: z.enum(questionStatuses),
    })
    .optional()
    .describe(
      'For `question_asked` and `question_answered`. An expired question is reported as answered, with the status `expired`.',
    ),
  refresh: sessionRefresh
    .pick({ status: true, cause: true, applied: true, needs_restart: true })
    .optional()
    .describe('For `refreshed`.'),
})

const triggerData = named('TriggerEventData', {
  slug: z.string(),
  slot_id: uuid,
  kind: z.enum(['cron', 'webhook', 'manual']),
  due_at: timestamp,
  session_id: uuid.nullable(),
  reason: z.string().nullable().describe('Why the trigger did not fire.'),
})

const deployData = named('DeployEventData', {
  app: z.string(),
  deploy_id: uuid,
  commit_sha: z.string().nullable(),
  url: z.string().nullable(),
  reason: z.string().nullable(),
})

const checkData = named('CheckEventData', {
  cr_id: uuid,
  number: z.number().int(),
  check: z.string(),
  run_id: uuid,
  attempt: z.number().int(),
  status: checkStatus,
  tree_sha: z.string(),
  reason: z.string().nullable().describe('Why the check did not pass.'),
})

const branchData = named('BranchEventData', {
  branch: z.string(),
  before: z.string().nullable().describe('Null when the branch had no commit.'),
  sha: z.string().nullable(),
})

const common = {
  id: z.number().int().describe('Counts the events of a project without gaps.'),
  project_id: uuid,
  created_at: timestamp,
  actor: z
    .object({ user_id: uuid, session_id: uuid.nullable() })
    .nullable()
    .describe('The user behind the event, and the session when an agent acted. Null when the service acted by itself.'),
}

export const projectEvent = z.discriminatedUnion('type', [
  z.object({ ...common, type: z.enum(changeRequestEventTypes), data: changeRequestData }),
  z.object({ ...common, type: z.enum(sessionEventTypes), data: sessionData }),
  z.object({ ...common, type: z.enum(triggerEventTypes), data: triggerData }),
  z.object({ ...common, type: z.enum(deployEventTypes), data: deployData }),
  z.object({ ...common, type: z.enum(checkEventTypes), data: checkData }),
  z.object({ ...common, type: z.literal('default_branch.moved'), data: branchData }),
])
z.globalRegistry.add(projectEvent, { id: 'ProjectEvent' })
export type ProjectEvent = z.infer<typeof projectEvent>

export const recentSeconds = z.coerce
  .number()
  .int()
  .min(1)
  .max(3600)
  .optional()
  .describe('Begins a stream with what happened in the last so many seconds, for a reader that read the state before.')

const streamMark = named('StreamMark', {
  type: z
    .enum(['ready', 'reset'])
    .describe(
      '`ready`: the stream begins after this id. `reset`: the events up to this id cannot be sent; read the state again.',
    ),
  id: z.number().int(),
})

export const streamProjectEventsRoute = route.get('project-read', '/v1/projects/:projectId/events', {
  name: 'streamProjectEvents',
  summary: 'Stream or list the events of a project',
  description:
    'Server-sent events from now on, after the id in `Last-Event-ID` or `after`, or of the last `recent` seconds. The first one is `ready` or `reset`. `Accept: application/json` returns one page instead. Events are kept for 30 days.',
  stream: true,
  replyTypes: ['text/event-stream', 'application/json'],
  event: z.union([projectEvent, streamMark]),
  query: z.object({
    after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    recent: recentSeconds,
    limit: z.coerce.number().int().min(1).max(1000).default(100),
  }),
  reply: z.object({
    events: z.array(projectEvent).describe('Oldest first. Without `after`, the newest ones.'),
    last: z.number().int().describe('The id of the newest event; 0 when there is none.'),
    forgotten: z.number().int().describe('Events up to and including this id are deleted.'),
  }),
})
export type ProjectEventPage = z.infer<typeof streamProjectEventsRoute.reply>
