/** What models and sandboxes were used for: counted in tokens and seconds, never in money. */
import { z } from 'zod'
import { route, uuid } from './route.ts'

const day = z.iso.date()
const whole = z.number().int().nonnegative()

/** A cap counts what calls used, and what is set aside for those under way. */
const cap = z.object({ scope: z.enum(['session', 'project', 'account']), tokens: whole, tokens_taken: whole })

export const usage = z.object({
  /** Days in UTC, both included. */
  from: day,
  to: day,
  /** Newest first. */
  models: z.array(
    z.object({ day, project_id: uuid, model: z.string(), calls: whole, tokens_in: whole, tokens_out: whole }),
  ),
  /** Within these days, the longest first. */
  sandboxes: z.array(z.object({ project_id: uuid, session_id: uuid, seconds: whole })),
  /** The same days by session, those that used most tokens first. */
  sessions: z.array(
    z.object({
      project_id: uuid,
      session_id: uuid,
      /** Null: it was deleted. */
      name: z.string().nullable(),
      calls: whole,
      tokens_in: whole,
      tokens_out: whole,
      sandbox_seconds: whole,
    }),
  ),
  totals: z.object({ calls: whole, tokens_in: whole, tokens_out: whole, sandbox_seconds: whole }),
  caps: z.array(cap),
})
export type Usage = z.infer<typeof usage>

/** How much of a project the server keeps, in bytes. */
export const storage = z.object({
  /** Without the unfinished work, which lies in the same store and has a quota of its own. */
  repository_bytes: whole,
  unfinished_work_bytes: whole,
  transcript_bytes: whole,
  check_log_bytes: whole,
  /** What the repository may be. */
  limit_bytes: whole,
  /** What unfinished work, transcripts and check logs may be together. */
  sessions_limit_bytes: whole,
})
export type Storage = z.infer<typeof storage>

/** Null: no cap. */
export const tokenCap = z.number().int().min(0).max(1_000_000_000_000).nullable()

const query = z.object({ days: z.coerce.number().int().min(1).max(366).default(30) })

export const accountUsageRoute = route({
  name: 'accountUsage',
  summary: 'What the models and sandboxes of an account were used for',
  method: 'GET',
  path: '/v1/accounts/:accountId/usage',
  access: 'account-read',
  query,
  reply: usage,
})

export const capAccountUsageRoute = route({
  name: 'capAccountUsage',
  summary: 'Set how many tokens an account may use in a month',
  method: 'PATCH',
  path: '/v1/accounts/:accountId/usage',
  access: 'account-admin',
  body: z.object({ model_tokens_per_month: tokenCap }),
  reply: z.object({ model_tokens_per_month: tokenCap }),
})

export const projectUsageRoute = route({
  name: 'projectUsage',
  summary: 'What the models and sandboxes of a project were used for, and how much storage it takes',
  method: 'GET',
  path: '/v1/projects/:projectId/usage',
  access: 'project-read',
  query,
  reply: usage.extend({ storage }),
})

export const sessionUsageRoute = route({
  name: 'sessionUsage',
  summary: 'What the model and the sandboxes of a session were used for',
  method: 'GET',
  path: '/v1/projects/:projectId/sessions/:sessionId/usage',
  access: 'project-read',
  query,
  reply: usage,
})
