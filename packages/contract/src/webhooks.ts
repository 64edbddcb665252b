import { z } from 'zod'
import { projectEventTypes } from './event-types.ts'
import { ok, page, pageOfWhole, route, timestamp, uuid } from './route.ts'

/** What a receiver may take to answer. */
export const webhookTimeoutMs = 10_000
/** So long a delivery is tried again; then the webhook is paused. */
export const webhookPatienceHours = 24
export const webhooksPerProjectMax = 20
/** What is kept of an answer. */
export const webhookAnswerBytesMax = 1024

/** `*`, all of a noun as `session.*`, or one type of event. */
const eventPattern = z
  .string()
  .refine(
    (text) => text === '*' || projectEventTypes.some((type) => type === text || `${type.split('.')[0]}.*` === text),
    'is neither `*`, nor a type of event, nor all of a noun as `session.*`',
  )

/** Whether a webhook that asked for `patterns` is sent events of that type. */
export function wantsEvent(patterns: string[], type: string): boolean {
  return patterns.some((each) => each === '*' || each === type || each === `${type.split('.')[0]}.*`)
}

export const webhook = z.object({
  webhook_id: uuid,
  project_id: uuid,
  url: z.string(),
  events: z.array(z.string()),
  /** `retrying`: the last try failed, and the next one comes at `next_attempt_at`. */
  state: z.enum(['active', 'retrying', 'paused']),
  /** Why it is paused, or what went wrong with the last try. */
  reason: z.string().nullable(),
  /** The last event it was sent, or that was not for it. */
  last_event: z.number().int(),
  /** Tries of the event it waits for. */
  attempts: z.number().int(),
  next_attempt_at: timestamp.nullable(),
  created_by: uuid.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
})
export type Webhook = z.infer<typeof webhook>

export const webhookDelivery = z.object({
  delivery_id: uuid,
  /** Null for a ping. */
  event_id: z.number().int().nullable(),
  event_type: z.string(),
  /** `waiting` was not taken yet; `failed` was given up. */
  status: z.enum(['waiting', 'delivered', 'failed']),
  attempts: z.number().int(),
  http_status: z.number().int().nullable(),
  /** What went wrong with the last try. */
  error: z.string().nullable(),
  /** The beginning of what the receiver answered last. */
  answer: z.string().nullable(),
  ms: z.number().int().nullable(),
  created_at: timestamp,
  last_attempt_at: timestamp.nullable(),
})
export type WebhookDelivery = z.infer<typeof webhookDelivery>

const url = z.string().trim().min(1).max(2048)
const events = z.array(eventPattern).min(1).max(50)
const secret = z.string().regex(/^[\x21-\x7e]{16,200}$/, 'has to be 16 to 200 printable characters without a space')

const base = '/v1/projects/:projectId/webhooks'

export const listWebhooksRoute = route({
  name: 'listWebhooks',
  summary: 'Where events of the project are sent',
  method: 'GET',
  path: base,
  access: 'project-admin',
  query: pageOfWhole,
  pages: { list: 'webhooks', by: 'webhook_id' },
  reply: z.object({ webhooks: z.array(webhook) }),
})

export const createWebhookRoute = route({
  name: 'createWebhook',
  summary: 'Send events of the project to an address, signed; begins with the next one. The secret is shown once',
  method: 'POST',
  path: base,
  access: 'project-admin',
  body: z.object({ url, events: events.default(['*']), secret: secret.optional() }),
  status: 201,
  idempotent: true,
  secretReply: true,
  reply: webhook.extend({ secret: z.string() }),
})

export const updateWebhookRoute = route({
  name: 'updateWebhook',
  summary: 'Change where or what a webhook sends, pause or resume it, or give it a new secret',
  method: 'PATCH',
  path: `${base}/:webhookId`,
  access: 'project-admin',
  body: z.object({
    url: url.optional(),
    events: events.optional(),
    paused: z.boolean().optional(),
    /** What was not sent yet is given up. */
    from_now: z.boolean().optional(),
    /** A new one is made and shown. */
    rotate_secret: z.boolean().optional(),
    secret: secret.optional(),
  }),
  reply: webhook.extend({ secret: z.string().nullable() }),
})

export const deleteWebhookRoute = route({
  name: 'deleteWebhook',
  summary: 'Send nothing more to that address',
  method: 'DELETE',
  path: `${base}/:webhookId`,
  access: 'project-admin',
  reply: ok,
})

export const listDeliveriesRoute = route({
  name: 'listDeliveries',
  summary: 'What a webhook was sent and what it answered, newest first',
  method: 'GET',
  path: `${base}/:webhookId/deliveries`,
  access: 'project-admin',
  query: page,
  reply: z.object({ deliveries: z.array(webhookDelivery) }),
})

export const redeliverRoute = route({
  name: 'redeliver',
  summary: 'Send an event once more, under the id of its first delivery',
  method: 'POST',
  path: `${base}/:webhookId/deliveries/:deliveryId/redeliver`,
  access: 'project-admin',
  status: 202,
  idempotent: true,
  reply: webhookDelivery,
})

export const pingWebhookRoute = route({
  name: 'pingWebhook',
  summary: 'Send a ping, also where the webhook is paused',
  method: 'POST',
  path: `${base}/:webhookId/ping`,
  access: 'project-admin',
  status: 202,
  idempotent: true,
  reply: webhookDelivery,
})
