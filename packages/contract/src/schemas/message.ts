/** A message of a conversation, with its parts in order. */
import { z } from 'zod'
import { named, timestamp, uuid } from '../route.ts'

export const attachment = named('Attachment', {
  attachment_id: uuid,
  name: z.string(),
  bytes: z.number().int(),
  content_type: z.string().describe('Detected from the first bytes of the file, never from its name.'),
})

const toolStatus = z.enum(['pending', 'running', 'completed', 'error'])
const exitCode = z
  .number()
  .int()
  .nullable()
  .optional()
  .describe(
    'The exit code of a command; null when it was killed, such as after its time limit. Absent for other tools.',
  )
const durationMs = z.number().int().min(0).optional()

export const messagePart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), id: z.string(), text: z.string() }),
  z.object({ type: z.literal('reasoning'), id: z.string(), text: z.string() }),
  z.object({
    type: z.literal('tool'),
    id: z.string(),
    tool: z.string(),
    status: toolStatus,
    title: z.string(),
    input: z.string(),
    output: z.string(),
    exit_code: exitCode,
    duration_ms: durationMs,
    diff: z.string().optional().describe('What an edit changed, as a unified diff. At most 64 KiB.'),
    steps: z
      .array(
        z.object({
          tool: z.string(),
          title: z.string(),
          status: toolStatus,
          exit_code: exitCode,
          duration_ms: durationMs,
        }),
      )
      .max(100)
      .optional()
      .describe('The tool calls of a sub-agent, the first hundred of them.'),
  }),
  attachment.extend({ type: z.literal('file'), id: z.string() }),
])
z.globalRegistry.add(messagePart, { id: 'MessagePart' })
export type MessagePart = z.infer<typeof messagePart>

export const message = named('Message', {
  message_id: z.string(),
  role: z.enum(['user', 'assistant']),
  prompt_id: uuid
    .optional()
    .describe(
      'The prompt that a message of role `user` delivers. Absent for an answer, for a message that the agent runtime added, and for messages of a sandbox that an earlier version started.',
    ),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
  error: z.string().nullable(),
  error_code: z
    .string()
    .optional()
    .describe(
      'Why the turn of the message ended without an answer, for programs, as in `last_turn_error`. `aborted`: a person stopped the turn. `sandbox_ended`: the session was stopped, moved, or reached a limit. `runtime_ended`: the agent runtime ended. `model_request_failed`, `model_auth_failed`, `output_limit_reached`, `context_limit_reached`: the model. Absent without an `error`, and for some messages of an earlier version.',
    ),
  parts: z.array(messagePart),
})
export type Message = z.infer<typeof message>
