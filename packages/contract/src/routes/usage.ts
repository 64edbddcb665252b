/** Usage of models and sandboxes, in tokens and seconds, never in money. */
import { z } from 'zod'
import { named, route, uuid } from '../route.ts'

const day = z.iso.date()
const whole = z.number().int().nonnegative()

/** A cap counts used tokens and the tokens reserved for running calls. */
const cap = named('UsageCap', {
  scope: z.enum(['session', 'project', 'account']),
  tokens: whole,
  tokens_taken: whole,
})

export const usage = named('Usage', {
  /** Days in UTC, both included. */
  from: day,
  to: day,
  models: z
    .array(z.object({ day, project_id: uuid, model: z.string(), calls: whole, tokens_in: whole, tokens_out: whole }))
    .describe('Newest day first.'),
  sandboxes: z.array(z.object({ project_id: uuid, session_id: uuid, seconds: whole })).describe('Longest time first.'),
  sessions: z
    .array(
      z.object({
        project_id: uuid,
        session_id: uuid,
        name: z.string().nullable().describe('Null when the session is deleted.'),
        calls: whole,
        tokens_in: whole,
        tokens_out: whole,
        sandbox_seconds: whole,
      }),
    )
    .describe('Most tokens first.'),
  totals: z.object({ calls: whole, tokens_in: whole, tokens_out: whole, sandbox_seconds: whole }),
  caps: z.array(cap),
})
export type Usage = z.infer<typeof usage>

export const storage = named('Storage', {
  repository_bytes: whole.describe('In bytes, without unfinished work, which has a quota of its own.'),
  unfinished_work_bytes: whole,
  transcript_bytes: whole,
  check_log_bytes: whole,
  limit_bytes: whole.describe('The quota of the repository, in bytes.'),
  sessions_limit_bytes: whole.describe('The quota of unfinished work, transcripts and check logs together, in bytes.'),
})
export type Storage = z.infer<typeof storage>

/** Null: no cap. */
export const tokenCap = z.number().int().min(0).max(1_000_000_000_000).nullable()

const query = z.object({ days: z.coerce.number().int().min(1).max(366).default(30) })

export const accountUsageRoute = route.get('account-read', '/v1/accounts/:accountId/usage', {
  name: 'accountUsage',
  summary: 'Get the usage of an account',
  description: 'Tokens of models and seconds of sandboxes, for the last `days` in UTC.',
  query,
  example: { query: { days: '7' } },
  reply: usage,
})

export const capAccountUsageRoute = route.patch('account-admin', '/v1/accounts/:accountId/usage', {
  name: 'capAccountUsage',
  summary: 'Set the monthly token cap of an account',
  description:
    'In tokens, input and output together; null removes the cap. At the cap, model calls get `spend_cap_reached`.',
  body: z.object({ model_tokens_per_month: tokenCap }),
  example: { body: { model_tokens_per_month: 50_000_000 } },
  reply: z.object({ model_tokens_per_month: tokenCap }),
})

export const projectUsageRoute = route.get('project-read', '/v1/projects/:projectId/usage', {
  name: 'projectUsage',
  summary: 'Get the usage and storage of a project',
  description: 'Tokens, seconds, and `storage` in bytes.',
  query,
  reply: named('ProjectUsage', { ...usage.shape, storage }),
})

export const sessionUsageRoute = route.get('project-read', '/v1/projects/:projectId/sessions/:sessionId/usage', {
  name: 'sessionUsage',
  summary: 'Get the usage of a session',
  description: 'Tokens of models and seconds of sandboxes, for the last `days` in UTC.',
  query,
  reply: usage,
})
