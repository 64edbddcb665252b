import { z } from 'zod'
import { changeRequest } from './change-requests.ts'
import { manifestIssue } from './projects.ts'
import { named, route, timestamp, uuid, wholeList } from '../route.ts'
import { mergeErrors, repositoryErrors, startErrors } from '../route-errors.ts'

export const webhookBytesMax = 1024 * 1024
export const signatureHeaders = ['x-svc-signature', 'x-hub-signature-256'] as const
/** Headers that identify a delivery, so that a repeated one is recognized. */
export const deliveryHeaders = ['x-svc-delivery', 'x-github-delivery', 'idempotency-key'] as const
export const webhooksPerMinuteMax = 30
export const firesPerMinuteMax = 30

export const triggerSlot = named('TriggerSlot', {
  slot_id: uuid,
  kind: z.enum(['cron', 'webhook', 'manual']),
  due_at: timestamp,
  status: z
    .enum(['claimed', 'fired', 'skipped', 'failed'])
    .describe('`failed`: the session did not start, or its first turn failed.'),
  fired_at: timestamp.nullable(),
  session_id: uuid.nullable(),
  reason: z.string().nullable().describe('Why the trigger has not fired, or failed.'),
  caught_up: z.boolean().describe('Whether it fired late, for this slot and the missed ones before.'),
  created_at: timestamp,
})
export type TriggerSlot = z.infer<typeof triggerSlot>

export const trigger = named('Trigger', {
  slug: z.string(),
  name: z.string().describe('The same as slug.'),
  type: z.enum(['cron', 'webhook']),
  enabled: z.boolean(),
  cron: z.string().nullable(),
  timezone: z.string(),
  run_at: z.string().nullable(),
  schedule: z
    .string()
    .nullable()
    .optional()
    .describe('`cron` or `run_at` in words, in `timezone`; null for a webhook. Older servers omit it.'),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  prompt: z.string(),
  prompt_template: z.string().describe('The same as prompt, with its placeholders unfilled.'),
  secret_env: z.string().nullable(),
  last_fired_at: timestamp.nullable(),
  next_fire_at: timestamp.nullable(),
  next_fire_times: z
    .array(timestamp)
    .optional()
    .describe('`next_fire_at` and the two times after it. Older servers omit it.'),
  webhook_url: z.string().nullable(),
})
export type Trigger = z.infer<typeof trigger>

const base = '/v1/projects/:projectId/triggers'

export const listTriggersRoute = route.get('project-read', base, {
  name: 'listTriggers',
  summary: 'List the triggers of a project',
  description: 'In the order of svc.toml on the default branch. `errors` are the problems of their entries.',
  errors: [...repositoryErrors],
  ...wholeList('triggers', 'slug'),
  reply: z.object({ triggers: z.array(trigger), errors: z.array(manifestIssue) }),
})

export const getTriggerRoute = route.get('project-read', `${base}/:slug`, {
  name: 'getTrigger',
  summary: 'Get a trigger with its latest runs',
  description: '`slots` are the times at which it was due, with their outcomes.',
  errors: [...repositoryErrors],
  reply: trigger.extend({ slots: z.array(triggerSlot) }),
})

export const fireTriggerRoute = route.post('project-write', `${base}/:slug/fire`, {
  name: 'fireTrigger',
  summary: 'Fire a trigger now',
  description:
    "Starts a session, whether the trigger is enabled or not. `concurrent_session_limit` (429) at the plan's limit.",
  errors: [
    ...repositoryErrors,
    ...startErrors,
    'unprocessable',
    'manifest_invalid',
    'spend_cap_reached',
    'quota_exceeded',
  ],
  effect: 'adds',
  body: z.object({ message: z.string().trim().max(16_384).optional() }).optional(),
  status: 202,
  idempotent: true,
  example: { body: { message: 'Run once before the release.' } },
  /** Always `fired`: a trigger that did not fire answers with an error. */
  reply: z.object({ session_id: uuid, status: z.literal('fired') }),
})

const switching = {
  description:
    'Opens a change request that edits svc.toml. With a user token it is merged at once; `merged` says whether it was.',
  errors: [
    ...repositoryErrors,
    'manifest_invalid',
    ...mergeErrors,
    'agent_merge_forbidden',
    'unprocessable',
    'quota_exceeded',
  ],
  idempotent: true,
  reply: z.object({ change_request: changeRequest.nullable(), merged: z.boolean() }),
} as const

export const enableTriggerRoute = route.post('project-write', `${base}/:slug/enable`, {
  ...switching,
  name: 'enableTrigger',
  summary: 'Enable a trigger',
  effect: 'adds',
})

export const disableTriggerRoute = route.post('project-write', `${base}/:slug/disable`, {
  ...switching,
  name: 'disableTrigger',
  summary: 'Disable a trigger',
  effect: 'ends',
})
