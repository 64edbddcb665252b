import { z } from 'zod'
import { changeRequest } from './change-requests.ts'
import { manifestIssue } from './projects.ts'
import { pageOfWhole, route, timestamp, uuid } from './route.ts'

/** A webhook's body: what its sender may send at once. */
export const webhookBytesMax = 1024 * 1024
export const signatureHeaders = ['x-svc-signature', 'x-hub-signature-256'] as const
/** Headers in which a sender names a delivery, so that a second try of it is known. */
export const deliveryHeaders = ['x-svc-delivery', 'x-github-delivery', 'idempotency-key'] as const
export const webhooksPerMinuteMax = 30
export const firesPerMinuteMax = 30

export const triggerSlot = z.object({
  slot_id: uuid,
  kind: z.enum(['cron', 'webhook', 'manual']),
  due_at: timestamp,
  /** `failed`: its session did not start, or the first turn of it failed. */
  status: z.enum(['claimed', 'fired', 'skipped', 'failed']),
  fired_at: timestamp.nullable(),
  session_id: uuid.nullable(),
  /** Why it did not fire, did not yet, or failed. */
  reason: z.string().nullable(),
  /** Fired later than it was due, for itself and for those that were missed before it. */
  caught_up: z.boolean(),
  created_at: timestamp,
})
export type TriggerSlot = z.infer<typeof triggerSlot>

export const trigger = z.object({
  slug: z.string(),
  type: z.enum(['cron', 'webhook']),
  enabled: z.boolean(),
  cron: z.string().nullable(),
  timezone: z.string(),
  run_at: z.string().nullable(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  prompt: z.string(),
  secret_env: z.string().nullable(),
  last_fired_at: timestamp.nullable(),
  next_fire_at: timestamp.nullable(),
  webhook_url: z.string().nullable(),
})
export type Trigger = z.infer<typeof trigger>

const base = '/v1/projects/:projectId/triggers'

export const listTriggersRoute = route({
  name: 'listTriggers',
  summary: 'The triggers of svc.toml on the default branch, in its order, and what is wrong with them there',
  method: 'GET',
  path: base,
  access: 'project-read',
  query: pageOfWhole,
  pages: { list: 'triggers', by: 'slug' },
  reply: z.object({ triggers: z.array(trigger), errors: z.array(manifestIssue) }),
})

export const getTriggerRoute = route({
  name: 'getTrigger',
  summary: 'One trigger with its newest slots: when it was due, and what came of it',
  method: 'GET',
  path: `${base}/:slug`,
  access: 'project-read',
  reply: trigger.extend({ slots: z.array(triggerSlot) }),
})

export const fireTriggerRoute = route({
  name: 'fireTrigger',
  summary: 'Fire a trigger now, enabled or not: starts a session',
  method: 'POST',
  path: `${base}/:slug/fire`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({ message: z.string().trim().max(16_384).optional() }).optional(),
  status: 202,
  idempotent: true,
  reply: z.object({ session_id: uuid }),
})

const switched = z.object({ change_request: changeRequest.nullable(), merged: z.boolean() })

export const enableTriggerRoute = route({
  name: 'enableTrigger',
  summary: 'Enable a trigger in svc.toml by a change request; of a user, it is merged at once',
  method: 'POST',
  path: `${base}/:slug/enable`,
  access: 'project-write',
  effect: 'adds',
  idempotent: true,
  reply: switched,
})

export const disableTriggerRoute = route({
  name: 'disableTrigger',
  summary: 'Disable a trigger in svc.toml by a change request; of a user, it is merged at once',
  method: 'POST',
  path: `${base}/:slug/disable`,
  access: 'project-write',
  effect: 'ends',
  idempotent: true,
  reply: switched,
})
