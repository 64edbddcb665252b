import { z } from 'zod'
import { route, timestamp, uuid } from './route.ts'

export const checkLogLinesMax = 5_000
/** Of the log of a check, the newest that one answer holds. */
export const checkLogAnswerBytesMax = 8 * 1024 * 1024

/**
 * - `queued` `running`: on its way
 * - `passed` `failed`: its command ended with exit code 0, or otherwise, or took too long
 * - `error`: it could not be run; `reason` says why
 * - `cancelled`: nobody wanted it any more before it ended
 */
export const checkStatuses = ['queued', 'running', 'passed', 'failed', 'error', 'cancelled'] as const
export const checkStatus = z.enum(checkStatuses)
export type CheckStatus = z.infer<typeof checkStatus>

export const check = z.object({
  /** As svc.toml of the default branch names it. */
  name: z.string(),
  command: z.string(),
  status: checkStatus,
  /** Null until it waits for a place to run. */
  run_id: uuid.nullable(),
  /** Rises with each time somebody asked for it again. */
  attempt: z.number().int(),
  exit_code: z.number().int().nullable(),
  /** Why it did not pass. */
  reason: z.string().nullable(),
  created_at: timestamp.nullable(),
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
})
export type Check = z.infer<typeof check>

/**
 * - `none`: svc.toml of the default branch names no checks
 * - `not_run`: there is nothing to run them on; `reason` says why
 * - `running`: at least one has not ended
 * - `failed`: all ended, and not all passed
 */
export const checksState = z.enum(['none', 'not_run', 'running', 'failed', 'passed'])
export type ChecksState = z.infer<typeof checksState>

export const changeRequestChecks = z.object({
  state: checksState,
  reason: z.string().nullable(),
  /** The two commits whose merge is checked. */
  base_sha: z.string().nullable(),
  head_sha: z.string().nullable(),
  /** What that merge makes of the files: results belong to it. */
  tree_sha: z.string().nullable(),
  /** In the order of svc.toml. */
  checks: z.array(check),
})
export type ChangeRequestChecks = z.infer<typeof changeRequestChecks>

export const checkLogLine = z.object({
  at: timestamp,
  /** `svc`: the service itself, about what it does with the check. */
  stream: z.enum(['output', 'svc']),
  text: z.string(),
})
export type CheckLogLine = z.infer<typeof checkLogLine>

const base = '/v1/projects/:projectId/change-requests/:crId/checks'

export const getChecksRoute = route({
  name: 'getChecks',
  summary: 'The checks of a change request: of the default branch’s svc.toml, run on what its merge would give',
  method: 'GET',
  path: base,
  access: 'project-write',
  reply: changeRequestChecks,
})

export const rerunChecksRoute = route({
  name: 'rerunChecks',
  summary: 'Run a check again, or all that ended and did not pass',
  method: 'POST',
  path: `${base}/rerun`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({ name: z.string().min(1).max(200).optional() }).optional(),
  status: 202,
  reply: changeRequestChecks,
})

export const readCheckLogRoute = route({
  name: 'readCheckLog',
  summary: 'The newest lines of what a check wrote, oldest of them first',
  method: 'GET',
  path: `${base}/:runId/log`,
  access: 'project-write',
  query: z.object({ lines: z.coerce.number().int().min(0).max(checkLogLinesMax).default(1_000) }),
  reply: z.object({
    check,
    lines: z.array(checkLogLine),
    /** There was more before. */
    truncated: z.boolean(),
  }),
})
