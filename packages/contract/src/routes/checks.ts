import { z } from 'zod'
import { named, route, timestamp, uuid } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'

export const checkLogLinesMax = 5_000
export const checkLogAnswerBytesMax = 8 * 1024 * 1024

export const checkStatuses = ['queued', 'running', 'passed', 'failed', 'error', 'cancelled'] as const
export const checkStatus = z
  .enum(checkStatuses)
  .describe(
    '`passed`: the command ended with exit code 0. `failed`: with another one, or it took too long. `error`: it could not run; `reason` says why. `cancelled`: it was no longer needed.',
  )
export type CheckStatus = z.infer<typeof checkStatus>

export const check = named('Check', {
  name: z.string().describe('The name in svc.toml on the default branch.'),
  command: z.string(),
  status: checkStatus,
  run_id: uuid.nullable().describe('Null until the check is queued.'),
  attempt: z.number().int().describe('Counts the runs of this check on the same tree.'),
  exit_code: z.number().int().nullable(),
  reason: z.string().nullable().describe('Why the check did not pass.'),
  created_at: timestamp.nullable(),
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
})
export type Check = z.infer<typeof check>

export const checksState = z
  .enum(['none', 'not_run', 'running', 'failed', 'passed'])
  .describe(
    '`none`: svc.toml of the default branch has no checks. `not_run`: they cannot run; `reason` says why. `running`: at least one has not ended. `failed`: all ended, and not all passed.',
  )
export type ChecksState = z.infer<typeof checksState>

export const changeRequestChecks = named('ChangeRequestChecks', {
  state: checksState,
  reason: z.string().nullable(),
  /** The two commits whose merge is checked. */
  base_sha: z.string().nullable(),
  head_sha: z.string().nullable(),
  tree_sha: z.string().nullable().describe('The tree of the merge. Results belong to this tree.'),
  checks: z.array(check).describe('In the order of svc.toml.'),
})
export type ChangeRequestChecks = z.infer<typeof changeRequestChecks>

export const checkLogLine = named('CheckLogLine', {
  at: timestamp,
  stream: z.enum(['output', 'svc']).describe('`svc` marks lines of the service itself.'),
  text: z.string(),
})
export type CheckLogLine = z.infer<typeof checkLogLine>

const base = '/v1/projects/:projectId/change-requests/:crId/checks'

export const getChecksRoute = route.get('project-write', base, {
  name: 'getChecks',
  summary: 'Get the checks of a change request',
  description: 'The checks come from svc.toml of the default branch and run on the merge of base and head.',
  errors: [...repositoryErrors, 'ref_missing', 'unprocessable'],
  reply: changeRequestChecks,
})

export const rerunChecksRoute = route.post('project-write', `${base}/rerun`, {
  name: 'rerunChecks',
  summary: 'Run checks again',
  description: 'One by `name`, or all that ended without passing.',
  errors: [...repositoryErrors, 'not_open', 'ref_missing', 'unprocessable'],
  effect: 'adds',
  body: z.object({ name: z.string().min(1).max(200).optional() }).optional(),
  status: 202,
  example: { body: { name: 'unit' } },
  reply: changeRequestChecks,
})

export const readCheckLogRoute = route.get('project-write', `${base}/:runId/log`, {
  name: 'readCheckLog',
  summary: 'Read the log of a check run',
  description: 'The newest `lines`, oldest of them first. At most 5,000 lines and 8 MiB.',
  query: z.object({ lines: z.coerce.number().int().min(0).max(checkLogLinesMax).default(1_000) }),
  reply: z.object({
    check,
    lines: z.array(checkLogLine),
    truncated: z.boolean().describe('Whether there are lines before the first one.'),
  }),
})
