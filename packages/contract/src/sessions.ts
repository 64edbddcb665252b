import { z } from 'zod'
import { branchName } from './projects.ts'
import { question } from './questions.ts'
import { line, metadata, ok, page, route, timestamp, uuid } from './route.ts'

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

export { sessionMoves } from './session-moves.ts'

/** `accepted`: kept, and delivered once the agent takes it. */
export const promptStatuses = ['accepted', 'delivered', 'failed', 'cancelled'] as const
export type PromptStatus = (typeof promptStatuses)[number]

export const promptBytesMax = 256 * 1024
/** What one `-e NAME=VALUE` of a process can hold on Linux (MAX_ARG_STRLEN), less room for the name. */
export const initialPromptBytesMax = 120 * 1024

export const turnError = z.object({ code: z.string(), message: z.string(), at: timestamp })
export type TurnError = z.infer<typeof turnError>

export const session = z.object({
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
  /** Why the newest turn failed; null once one succeeds. */
  last_turn_error: turnError.nullable(),
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
  /** The session whose agent started this one; null: a person or a clock did, or that session was deleted. */
  parent_session_id: uuid.nullable(),
  metadata: z.record(z.string(), z.json()),
  created_at: timestamp,
  updated_at: timestamp,
  last_active_at: timestamp,
  /** Only when asked for: whether its agent is at work on a prompt. One that runs and is not waits for its next. */
  is_busy: z.boolean().optional(),
  /** `person`: its agent has asked a question that is still open. */
  waiting_for: z.enum(['person']).nullable(),
})
export type Session = z.infer<typeof session>

const base = '/v1/projects/:projectId/sessions'
const include = z.enum(['activity']).optional()
const agentName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'is not an agent name')
const promptText = z
  .string()
  .trim()
  .min(1, 'is empty')
  .refine((text) => !text.includes('\0'), 'holds a NUL character')

export const createSessionRoute = route({
  name: 'createSession',
  summary: 'Cut a session branch and start a sandbox on it',
  method: 'POST',
  path: base,
  access: 'project-write',
  effect: 'adds',
  body: z
    .object({
      name: line(200).optional(),
      agent_name: agentName.optional(),
      base_ref: branchName.optional(),
      initial_prompt: promptText
        .refine((text) => new TextEncoder().encode(text).length <= initialPromptBytesMax, 'is larger than 120 KiB')
        .optional(),
      model: z
        .string()
        .regex(/^[\w.:/@-]{1,200}$/, 'is not a model name')
        .optional(),
      metadata: metadata.optional(),
    })
    .optional(),
  status: 201,
  idempotent: true,
  reply: session,
})

export const listSessionsRoute = route({
  name: 'listSessions',
  summary: 'The sessions of a project, newest first',
  method: 'GET',
  path: base,
  access: 'project-read',
  query: page.extend({ status: z.enum([...sessionStatuses, 'all']).default('all'), include }),
  reply: z.array(session),
})

export const getSessionRoute = route({
  name: 'getSession',
  summary: 'One session',
  method: 'GET',
  path: `${base}/:sessionId`,
  access: 'project-read',
  query: z.object({ include }),
  reply: session,
})

export const updateSessionRoute = route({
  name: 'updateSession',
  summary: 'Rename a session or replace its metadata',
  method: 'PATCH',
  path: `${base}/:sessionId`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({ name: line(200).optional(), metadata: metadata.optional() }),
  reply: session,
})

export const stopSessionRoute = route({
  name: 'stopSession',
  summary: 'Stop a session: its sandbox is torn down, its branch stays',
  method: 'POST',
  path: `${base}/:sessionId/stop`,
  access: 'project-write',
  effect: 'ends',
  reply: session,
})

export const restartSessionRoute = route({
  name: 'restartSession',
  summary: 'Start a session again in a new sandbox, from its branch',
  method: 'POST',
  path: `${base}/:sessionId/restart`,
  access: 'project-write',
  effect: 'adds',
  /** Without `agent` the session keeps its own; null is the default agent. */
  body: z.object({ agent: agentName.nullable().optional() }).optional(),
  status: 202,
  reply: session,
})

export const deleteSessionRoute = route({
  name: 'deleteSession',
  summary: 'Stop and delete a session; its branch and its change requests stay',
  method: 'DELETE',
  path: `${base}/:sessionId`,
  access: 'project-write',
  reply: ok,
})

const promptError = z.object({ code: z.string(), message: z.string() })

export const promptSessionRoute = route({
  name: 'promptSession',
  summary: 'Send a prompt to the agent; a stopped session is started for it',
  method: 'POST',
  path: `${base}/:sessionId/prompt`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({
    text: promptText.refine(
      (text) => new TextEncoder().encode(text).length <= promptBytesMax,
      'is larger than 256 KiB',
    ),
  }),
  status: 202,
  idempotent: true,
  reply: z.object({
    prompt_id: uuid,
    status: z.enum(['accepted', 'delivered', 'failed']),
    /** Only when the prompt was refused at once. */
    error: promptError.optional(),
  }),
})

/** A text that a person or a program wrote to the agent. The first prompt of a session has the session's id. */
export const prompt = z.object({
  prompt_id: uuid,
  text: z.string(),
  status: z.enum(promptStatuses),
  error: promptError.nullable(),
  created_by: uuid.nullable(),
  created_at: timestamp,
  /** When it was delivered, refused or cancelled. */
  settled_at: timestamp.nullable(),
  attachments: z.array(z.object({})),
})
export type Prompt = z.infer<typeof prompt>

export const listPromptsRoute = route({
  name: 'listPrompts',
  summary: 'The prompts of a session with what became of each, newest first',
  method: 'GET',
  path: `${base}/:sessionId/prompts`,
  access: 'project-read',
  query: page,
  reply: z.object({ prompts: z.array(prompt) }),
})

export const abortSessionRoute = route({
  name: 'abortSession',
  summary: 'Abort what the agent is doing now',
  method: 'POST',
  path: `${base}/:sessionId/abort`,
  access: 'project-write',
  effect: 'ends',
  reply: ok,
})

/** One message of the conversation. `parts` in the order the agent made them. */
export const messagePart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), id: z.string(), text: z.string() }),
  z.object({ type: z.literal('reasoning'), id: z.string(), text: z.string() }),
  z.object({
    type: z.literal('tool'),
    id: z.string(),
    tool: z.string(),
    status: z.enum(['pending', 'running', 'completed', 'error']),
    title: z.string(),
    input: z.string(),
    output: z.string(),
  }),
])
export type MessagePart = z.infer<typeof messagePart>

export const message = z.object({
  message_id: z.string(),
  role: z.enum(['user', 'assistant']),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
  error: z.string().nullable(),
  parts: z.array(messagePart),
})
export type Message = z.infer<typeof message>

export const getTranscriptRoute = route({
  name: 'getTranscript',
  summary:
    'The conversation as the service keeps it, oldest first; readable after the session stopped. With a limit its end, and by the next page what came before; or its start',
  method: 'GET',
  path: `${base}/:sessionId/transcript`,
  access: 'project-read',
  query: z.object({
    limit: z.coerce.number().int().min(1).max(1000).optional(),
    cursor: z.string().max(200).optional(),
    /** What a limit keeps. The start has no next page. */
    from: z.enum(['start', 'end']).default('end'),
  }),
  reply: z.object({ messages: z.array(message) }),
})

export const getTimelineRoute = route({
  name: 'getTimeline',
  summary: 'The steps of the last start with their durations',
  method: 'GET',
  path: `${base}/:sessionId/timeline`,
  access: 'project-read',
  reply: z.object({
    phases: z.array(
      z.object({ name: z.string(), started_at: timestamp, ms: z.number().nullable(), error: z.string().nullable() }),
    ),
  }),
})

/** Each event of `GET …/events` is one of these as JSON in `data`, with its type as the event's name. */
export const sessionEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session'), session }),
  z.object({ type: z.literal('message'), message }),
  /** The agent is at work, waits for a prompt, or its turn failed. */
  z.object({
    type: z.literal('turn'),
    status: z.enum(['busy', 'idle', 'error']),
    error: z.string().nullable(),
  }),
  /** The agent asked a question, or one was answered or expired. */
  z.object({ type: z.literal('question'), question }),
])
export type SessionEvent = z.infer<typeof sessionEvent>

export const streamSessionEventsRoute = route({
  name: 'streamSessionEvents',
  summary:
    'Server-sent events of one session: first what is, then what changes. With Last-Event-ID only the messages that changed since',
  method: 'GET',
  path: `${base}/:sessionId/events`,
  access: 'project-read',
  /** As many of the newest messages are told at first, all without it; the transcript has those before them. */
  query: z.object({ messages: z.coerce.number().int().min(1).max(1000).optional() }),
  stream: true,
  replyTypes: ['text/event-stream'],
  reply: sessionEvent,
})

/** Concurrent sessions by plan; null is unlimited. */
export const planLimits = { free: 3, pro: 50, team: 200, selfhost: null } as const
