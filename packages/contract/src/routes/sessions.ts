import { z } from 'zod'
import { attachmentsBodyLimit } from '../schemas/attachments.ts'
import { discardWork } from '../schemas/discard-work.ts'
import { attachment, message } from '../schemas/message.ts'
import { newAttachments } from '../schemas/new-attachments.ts'
import { branchName } from './projects.ts'
import { question } from './questions.ts'
import { line, metadata, named, ok, page, route, timestamp, uuid } from '../route.ts'
import { repositoryErrors, startErrors } from '../route-errors.ts'

export const sessionStatuses = [
  'queued',
  'branching',
  'provisioning',
  'running',
  'stopped',
  'failed',
  'completed',
] as const
export type SessionStatus = (typeof sessionStatuses)[number]

export const sandboxStatuses = ['provisioning', 'active', 'stopped', 'error', 'archived'] as const
export type SandboxStatus = (typeof sandboxStatuses)[number]

export { sessionMoves } from '../schemas/session-moves.ts'

/** `accepted`: stored, and delivered when the agent can take it. */
export const promptStatuses = ['accepted', 'delivered', 'failed', 'cancelled'] as const
export type PromptStatus = (typeof promptStatuses)[number]

export const promptBytesMax = 256 * 1024
/** The Linux limit of one argument (MAX_ARG_STRLEN), minus room for the variable name. */
export const initialPromptBytesMax = 120 * 1024

export const turnError = named('TurnError', { code: z.string(), message: z.string(), at: timestamp })
export type TurnError = z.infer<typeof turnError>

/** The changes of svc.toml that the running sandbox has applied. */
export const sessionRefresh = named('SessionRefresh', {
  status: z.enum(['waiting', 'done', 'failed']).describe('`waiting`: until the turn of the agent ends.'),
  cause: z.enum(['request', 'default_branch']).describe('`default_branch`: svc.toml or the agents changed there.'),
  requested_at: timestamp,
  settled_at: timestamp.nullable(),
  applied: z
    .array(z.string())
    .describe(
      'The settings that changed and are in force, such as `sandbox.egress`. `agents` is the content of the config folder, `branch` are new commits of the session branch.',
    ),
  needs_restart: z.array(z.string()).describe('The settings that only a restart applies.'),
  error: z.string().nullable().describe('Why the refresh failed, or why the session branch was not pulled.'),
})
export type SessionRefresh = z.infer<typeof sessionRefresh>

export const session = named('Session', {
  session_id: uuid,
  account_id: uuid,
  project_id: uuid,
  name: z.string(),
  branch_name: z.string(),
  base_ref: z.string(),
  agent_name: z.string(),
  model: z.string().nullable(),
  status: z.enum(sessionStatuses),
  error: z.string().nullable(),
  last_turn_error: turnError.nullable().describe('Why the latest turn failed; null once a turn succeeds.'),
  sandbox_url: z.string().nullable(),
  sandbox: z
    .object({
      sandbox_id: uuid,
      driver: z.string(),
      status: z.enum(sandboxStatuses),
      generation: z.number().int(),
    })
    .nullable(),
  created_by: uuid.nullable(),
  acts_for: uuid
    .nullable()
    .optional()
    .describe(
      'The user in whose name its agent acts: `created_by`, until another member goes on with the session of a person who left. Older servers omit it.',
    ),
  parent_session_id: uuid
    .nullable()
    .describe(
      'The session whose agent started this one; null when a person or a schedule did, or when that session is deleted.',
    ),
  continues: z
    .object({ session_id: uuid, message_id: z.string().nullable() })
    .nullable()
    .optional()
    .describe(
      'The session that this one was branched from, and the last message of its conversation that this one knows. Null when it began by itself, or when that session is deleted. Older servers omit it.',
    ),
  metadata: z.record(z.string(), z.json()),
  created_at: timestamp,
  updated_at: timestamp,
  last_active_at: timestamp,
  is_busy: z.boolean().optional().describe('Only with `include=activity`: whether the agent is working on a prompt.'),
  task: z
    .string()
    .nullable()
    .optional()
    .describe('Only in a list: the first line of the first prompt, cut. Null until the agent has it.'),
  refresh: sessionRefresh.nullable().describe('The latest refresh since the sandbox started.'),
  waiting_for: z.enum(['person']).nullable().describe('`person`: a question of the agent is open.'),
  asleep_since: timestamp
    .nullable()
    .optional()
    .describe(
      'Since when the idle agent sleeps; null while it is awake. The next prompt wakes it, which may take half a minute. Older servers omit it.',
    ),
  sandbox_ended: z
    .string()
    .nullable()
    .optional()
    .describe(
      'Why the sandbox of the start before this one ended, such as for a move to another server. Null: a request restarted or stopped it, or there was none. Older servers omit it.',
    ),
  transcript_deleted_at: timestamp
    .nullable()
    .optional()
    .describe('The messages before this time were deleted, as old as the operator keeps them. Null: none were.'),
  branch_deleted_at: timestamp
    .nullable()
    .optional()
    .describe(
      'When the server deleted the branch, because it was merged for as long as the operator keeps merged branches. A restart creates it again from the base branch. Null: it did not. Older servers omit it.',
    ),
})
export type Session = z.infer<typeof session>

const base = '/v1/projects/:projectId/sessions'
const include = z.enum(['activity']).optional()
const agentName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'is not an agent name')
const modelName = z.string().regex(/^[\w.:/@-]{1,200}$/, 'is not a model name')
const promptText = z
  .string()
  .trim()
  .min(1, 'is empty')
  .refine((text) => !text.includes('\0'), 'contains a NUL character')

export const createSessionRoute = route.post('project-write', base, {
  name: 'createSession',
  summary: 'Create a session',
  description:
    "Creates a branch and starts a sandbox on it; the response comes before the sandbox runs. With `initial_prompt`, the agent starts to work at once. With `from`, the new session continues from a message of another session of the project: with the code as it was after that turn, and the conversation up to there. `concurrent_session_limit` (429) when the account's plan is at its limit; `no_model` when no model is configured.",
  errors: [...repositoryErrors, ...startErrors, 'unprocessable', 'quota_exceeded', 'limit_reached', 'branch_protected'],
  effect: 'adds',
  body: z
    .strictObject({
      session_id: z
        .uuidv4('must be a random UUID (version 4)')
        .toLowerCase()
        .optional()
        .describe('The id the session gets, a new random UUID. Sent again by the same caller, it is the same session.'),
      branch_already_created: z
        .boolean()
        .optional()
        .describe('The branch named session_id already exists, and the session works on it as it is.'),
      name: line(200).optional(),
      agent_name: agentName.optional(),
      base_ref: branchName.optional(),
      from: z
        .strictObject({
          session_id: uuid.describe('A session of the same project. It stays as it is.'),
          message_id: z
            .string()
            .regex(/^[\w.:-]{1,200}$/, 'is not the id of a message')
            .optional()
            .describe('A message of the turn to continue after. Without it, the session as it is now.'),
        })
        .optional()
        .describe(
          "Where to continue from. The agent and the model are that session's unless they are given, and so is the base.",
        ),
      initial_prompt: promptText
        .refine((text) => new TextEncoder().encode(text).length <= initialPromptBytesMax, 'is larger than 120 KiB')
        .optional(),
      attachments: newAttachments.optional(),
      model: modelName.optional(),
      metadata: metadata.optional(),
    })
    .refine((body) => body.branch_already_created !== true || body.session_id !== undefined, {
      path: ['session_id'],
      message: 'is required with branch_already_created: the branch has this name',
    })
    .refine(({ from, base_ref }) => from === undefined || base_ref === undefined, {
      path: ['base_ref'],
      message: 'is not possible with from: the code comes from that session',
    })
    .refine(({ from, branch_already_created }) => from === undefined || branch_already_created !== true, {
      path: ['branch_already_created'],
      message: 'is not possible with from: the branch begins where that session was',
    })
    .refine(({ attachments, initial_prompt }) => !attachments?.length || initial_prompt !== undefined, {
      path: ['initial_prompt'],
      message: 'is required with attachments',
    })
    .optional(),
  bodyLimit: attachmentsBodyLimit,
  status: 201,
  idempotent: true,
  example: {
    body: {
      name: 'Fix the build',
      base_ref: 'main',
      initial_prompt: 'Fix the failing test.',
      metadata: { ticket: 'WEB-12' },
    },
  },
  reply: session,
})

export const listSessionsRoute = route.get('project-read', base, {
  name: 'listSessions',
  summary: 'List the sessions of a project',
  description: 'Newest first. `include=activity` adds `is_busy`.',
  query: page.extend({ status: z.enum([...sessionStatuses, 'all']).default('all'), include }),
  example: { query: { status: 'running', include: 'activity' } },
  reply: z.array(session),
})

export const getSessionRoute = route.get('project-read', `${base}/:sessionId`, {
  name: 'getSession',
  summary: 'Get a session',
  description: '`include=activity` adds `is_busy`: whether the agent is working on a prompt.',
  query: z.object({ include }),
  reply: session,
})

export const updateSessionRoute = route.patch('project-write', `${base}/:sessionId`, {
  name: 'updateSession',
  summary: 'Rename a session or replace its metadata',
  description: 'Metadata is replaced as a whole and has at most 16 KiB.',
  effect: 'adds',
  body: z.object({ name: line(200).optional(), metadata: metadata.optional() }),
  example: { body: { name: 'Fix the build on Linux', metadata: { ticket: 'WEB-12' } } },
  reply: session,
})

export const stopSessionRoute = route.post('project-write', `${base}/:sessionId/stop`, {
  name: 'stopSession',
  summary: 'Stop a session',
  description:
    'Saves unfinished work and removes the sandbox. The branch stays. Stopping a stopped session changes nothing. `work_not_saved` when the sandbox has work that cannot be saved now; the session still runs.',
  effect: 'ends',
  errors: ['work_not_saved'],
  query: discardWork,
  reply: session,
})

export const restartSessionRoute = route.post('project-write', `${base}/:sessionId/restart`, {
  name: 'restartSession',
  summary: 'Restart a session',
  description:
    'Starts a new sandbox from the session branch. Without `agent` the session keeps its agent; null selects the default agent. `work_not_saved` as for a stop.',
  errors: [...repositoryErrors, ...startErrors, 'unprocessable', 'work_not_saved'],
  query: discardWork,
  effect: 'adds',
  body: z.strictObject({ agent: agentName.nullable().optional() }).optional(),
  status: 202,
  example: { body: { agent: null } },
  reply: session,
})

export const refreshSessionRoute = route.post('project-write', `${base}/:sessionId/refresh`, {
  name: 'refreshSession',
  summary: 'Apply changes of the default branch to a running session',
  description:
    'Once the agent is idle, pulls the session branch and restarts the agent runtime. `refresh.needs_restart` lists what only a restart applies.',
  effect: 'adds',
  body: z.strictObject({}).optional(),
  status: 202,
  reply: session,
})

export const deleteSessionRoute = route.delete('project-write', `${base}/:sessionId`, {
  name: 'deleteSession',
  summary: 'Delete a session',
  description: 'Stops it first. Its branch and its change requests stay. `work_not_saved` as for a stop.',
  errors: [...repositoryErrors, 'work_not_saved'],
  query: discardWork,
  reply: ok,
})

const promptError = z.object({ code: z.string(), message: z.string() })

export const promptSessionRoute = route.post('project-write', `${base}/:sessionId/prompt`, {
  name: 'promptSession',
  summary: 'Send a prompt to the agent of a session',
  description:
    'At most 256 KiB of text and 10 attachments, 10 MiB each and 20 MiB together. A stopped session is started. The response comes before the agent has worked: `accepted` while the prompt waits, such as for the end of the current turn.',
  errors: [...startErrors, 'unprocessable', 'runtime_booting', ...repositoryErrors, 'quota_exceeded'],
  effect: 'adds',
  body: z.strictObject({
    text: promptText.refine(
      (text) => new TextEncoder().encode(text).length <= promptBytesMax,
      'is larger than 256 KiB',
    ),
    attachments: newAttachments.optional(),
    agent: agentName.optional().describe('The agent from this prompt on. Without it, the session keeps its agent.'),
    model: modelName
      .nullable()
      .optional()
      .describe('The model from this prompt on; null is the default one. Without it, the session keeps its model.'),
  }),
  bodyLimit: attachmentsBodyLimit,
  status: 202,
  idempotent: true,
  example: { body: { text: 'Run the tests again.', attachments: [{ name: 'log.txt', content_base64: 'b29wcwo=' }] } },
  reply: z.object({
    prompt_id: uuid,
    status: z.enum(['accepted', 'delivered', 'failed']),
    error: promptError.optional().describe('Only when the prompt was refused at once.'),
  }),
})

/** A text for the agent. The first prompt of a session has the session's id. */
export const prompt = named('Prompt', {
  prompt_id: uuid,
  text: z.string(),
  status: z.enum(promptStatuses),
  error: promptError.nullable(),
  created_by: uuid.nullable(),
  created_at: timestamp,
  settled_at: timestamp.nullable().describe('When the prompt was delivered, refused or cancelled.'),
  attachments: z.array(attachment),
  agent_name: z
    .string()
    .nullable()
    .describe(
      'The agent that the prompt is for. Null where the server does not know it, such as for the first prompt.',
    ),
  model: z
    .string()
    .nullable()
    .describe('The model that the prompt is for, where `agent_name` is set; null is the default one.'),
})
export type Prompt = z.infer<typeof prompt>

export const listPromptsRoute = route.get('project-read', `${base}/:sessionId/prompts`, {
  name: 'listPrompts',
  summary: 'List the prompts of a session',
  description:
    'Newest first, each with its outcome. `status=accepted` are those that wait, such as for the end of the current turn.',
  query: page.extend({ status: z.enum([...promptStatuses, 'all']).default('all') }),
  example: { query: { status: 'accepted' } },
  reply: z.object({ prompts: z.array(prompt) }),
})

export const cancelPromptRoute = route.delete('project-write', `${base}/:sessionId/prompts/:promptId`, {
  name: 'cancelPrompt',
  summary: 'Cancel a waiting prompt',
  description:
    'Only while it waits. `conflict` (409) once the agent has it: abort the turn instead. Cancelling a cancelled prompt changes nothing.',
  reply: prompt,
})

export const abortSessionRoute = route.post('project-write', `${base}/:sessionId/abort`, {
  name: 'abortSession',
  summary: 'Abort the current turn of the agent',
  description: 'The session keeps running and takes the next prompt.',
  errors: ['runtime_booting'],
  effect: 'ends',
  reply: ok,
})

export const getTranscriptRoute = route.get('project-read', `${base}/:sessionId/transcript`, {
  name: 'getTranscript',
  summary: 'Get the conversation of a session',
  description:
    'Oldest first, also after the session stopped. With `limit`, the newest messages, and by the next page the ones before; `from=start` takes the oldest.',
  query: z.object({
    limit: z.coerce.number().int().min(1).max(1000).optional(),
    cursor: z.string().max(200).optional(),
    from: z
      .enum(['start', 'end'])
      .default('end')
      .describe('Which end of the conversation `limit` keeps. `start` has no next page.'),
  }),
  example: { query: { limit: '50' } },
  reply: z.object({ messages: z.array(message) }),
})

/** Images that are safe to show keep their type; every other file is a download. Texts are redacted like the transcript. */
export const getAttachmentRoute = route.get('project-read', `${base}/:sessionId/attachments/:attachmentId`, {
  name: 'getAttachment',
  summary: 'Download a file that was sent with a prompt',
  description:
    'PNG, JPEG, GIF and WebP come with their own type, every other file as `application/octet-stream`. Secrets in a text are replaced.',
  stream: true,
  replyTypes: ['application/octet-stream', 'image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  reply: z.string(),
})

export const getTimelineRoute = route.get('project-read', `${base}/:sessionId/timeline`, {
  name: 'getTimeline',
  summary: 'Get the steps of the last start',
  description:
    'Each step with its duration in milliseconds, and since then each `refresh`, each `wake` of the sleeping agent, and `restore`, of work that was saved before the project moved to another server or its server was lost. A `restore` that failed stays until that work is recovered.',
  reply: z.object({
    phases: z.array(
      named('StartPhase', {
        name: z.string(),
        started_at: timestamp,
        ms: z.number().nullable(),
        error: z.string().nullable(),
        note: z
          .string()
          .nullable()
          .default(null)
          .describe('For a refresh: what it changed. For `queue`: the place in line. For `branch`: why it waits.'),
      }),
    ),
  }),
})

/** The JSON in `data` of each event of `GET …/events`. The event name is its `type`. */
export const sessionEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session'), session }),
  z.object({ type: z.literal('message'), message }),
  z.object({
    type: z.literal('turn'),
    status: z.enum(['busy', 'idle', 'error']),
    error: z.string().nullable(),
  }),
  z.object({ type: z.literal('question'), question }),
])
z.globalRegistry.add(sessionEvent, { id: 'SessionEvent' })
export type SessionEvent = z.infer<typeof sessionEvent>

export const streamSessionEventsRoute = route.get('project-read', `${base}/:sessionId/events`, {
  name: 'streamSessionEvents',
  summary: 'Stream the events of a session',
  description:
    'Server-sent events: first the current state, then every change. The event name is the `type` in its data. `Last-Event-ID` resumes with the messages that changed since.',
  errors: ['runtime_booting'],
  /** `messages` limits the first messages of the stream to the newest ones; the transcript has the ones before. */
  query: z.object({ messages: z.coerce.number().int().min(1).max(1000).optional() }),
  stream: true,
  replyTypes: ['text/event-stream'],
  event: sessionEvent,
  reply: sessionEvent,
})

/** Concurrent sessions by plan; null is unlimited. */
export const planLimits = { free: 3, pro: 50, team: 200, selfhost: null } as const
