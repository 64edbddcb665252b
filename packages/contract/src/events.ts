import { z } from 'zod'
import { changeRequestStatuses } from './change-request-moves.ts'
import { checkStatus } from './checks.ts'
import {
  changeRequestEventTypes,
  checkEventTypes,
  deployEventTypes,
  sessionEventTypes,
  triggerEventTypes,
} from './event-types.ts'
import { questionKinds, questionStatuses } from './questions.ts'
import { route, timestamp, uuid } from './route.ts'

export { type ProjectEventType, projectEventTypes } from './event-types.ts'

/** What is kept. Whoever was away for longer reads again what is there. */
export const eventDaysKept = 30
/** A title or a reason in an event is cut to so many characters: the thing itself has it whole. */
export const eventTextMax = 500
/** Paths named by one event. */
export const eventPathsMax = 20

const changeRequestData = z.object({
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
  /** Of `updated`: what is another than before: `head`, `title`, `description`, `metadata`. */
  changed: z.array(z.string()).optional(),
  /** Of `conflicted`: the first paths that conflict. */
  conflicts: z.array(z.string()).optional(),
  /** Of `reviewed`. */
  review: z.object({ review_id: uuid, comments: z.number().int(), session_id: uuid.nullable() }).optional(),
})

const sessionData = z.object({
  session_id: uuid,
  name: z.string(),
  agent_name: z.string(),
  branch_name: z.string(),
  generation: z.number().int(),
  /** Why it stopped or failed, why its turn did, or why its question expired. */
  reason: z.string().nullable(),
  /** Set for `question_asked` and `question_answered`. A question that expired is reported as answered, with that status. */
  question: z
    .object({
      question_id: uuid,
      kind: z.enum(questionKinds),
      title: z.string(),
      status: z.enum(questionStatuses),
    })
    .optional(),
})

const triggerData = z.object({
  slug: z.string(),
  slot_id: uuid,
  kind: z.enum(['cron', 'webhook', 'manual']),
  due_at: timestamp,
  session_id: uuid.nullable(),
  /** Why it did not fire. */
  reason: z.string().nullable(),
})

const deployData = z.object({
  app: z.string(),
  deploy_id: uuid,
  commit_sha: z.string().nullable(),
  url: z.string().nullable(),
  reason: z.string().nullable(),
})

const checkData = z.object({
  cr_id: uuid,
  number: z.number().int(),
  check: z.string(),
  run_id: uuid,
  attempt: z.number().int(),
  status: checkStatus,
  tree_sha: z.string(),
  /** Why it did not pass. */
  reason: z.string().nullable(),
})

const branchData = z.object({
  branch: z.string(),
  /** Null: it has no commit. */
  before: z.string().nullable(),
  sha: z.string().nullable(),
})

const common = {
  /** Rises by one from event to event of a project; whoever has seen one has missed none before it. */
  id: z.number().int(),
  project_id: uuid,
  created_at: timestamp,
  /** Who did it; null when the service noticed or did it by itself. A session is an agent's. */
  actor: z.object({ user_id: uuid, session_id: uuid.nullable() }).nullable(),
}

export const projectEvent = z.discriminatedUnion('type', [
  z.object({ ...common, type: z.enum(changeRequestEventTypes), data: changeRequestData }),
  z.object({ ...common, type: z.enum(sessionEventTypes), data: sessionData }),
  z.object({ ...common, type: z.enum(triggerEventTypes), data: triggerData }),
  z.object({ ...common, type: z.enum(deployEventTypes), data: deployData }),
  z.object({ ...common, type: z.enum(checkEventTypes), data: checkData }),
  z.object({ ...common, type: z.literal('default_branch.moved'), data: branchData }),
])
export type ProjectEvent = z.infer<typeof projectEvent>

export const streamProjectEventsRoute = route({
  name: 'streamProjectEvents',
  summary:
    'Server-sent events of a project, from now on, or after the id in Last-Event-ID or ?after. With Accept: application/json one page of them',
  method: 'GET',
  path: '/v1/projects/:projectId/events',
  access: 'project-read',
  stream: true,
  replyTypes: ['text/event-stream', 'application/json'],
  query: z.object({
    after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    limit: z.coerce.number().int().min(1).max(1000).default(100),
  }),
  reply: z.object({
    /** Oldest first. Without `after` the newest. */
    events: z.array(projectEvent),
    /** The newest there is; 0 when nothing ever happened. */
    last: z.number().int(),
    /** Events up to and with this one are forgotten. */
    forgotten: z.number().int(),
  }),
})
export type ProjectEventPage = z.infer<typeof streamProjectEventsRoute.reply>
