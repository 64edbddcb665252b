import { z } from 'zod'
import { projectEventTypes } from '../schemas/event-types.ts'
import { named, ok, page, route, timestamp, uuid, wholeList } from '../route.ts'

export const webhookTimeoutMs = 10_000
/** How long a delivery is retried before the webhook is paused. */
export const webhookPatienceHours = 24
export const webhooksPerProjectMax = 20
export const webhookAnswerBytesMax = 1024

/** `*`, a noun such as `session.*`, or one event type. */
const eventPattern = z
  .string()
  .refine(
    (text) => text === '*' || projectEventTypes.some((type) => type === text || `${type.split('.')[0]}.*` === text),
    'must be `*`, an event type, or all types of a noun such as `session.*`',
  )

export function wantsEvent(patterns: string[], type: string): boolean {
  return patterns.some((each) => each === '*' || each === type || each === `${type.split('.')[0]}.*`)
}

export const webhook = named('Webhook', {
  webhook_id: uuid,
  project_id: uuid,
  url: z.string(),
  events: z.array(z.string()),
  state: z
    .enum(['active', 'retrying', 'paused'])
    .describe('`retrying`: the last attempt failed; the next one is at `next_attempt_at`.'),
  reason: z.string().nullable().describe('Why the webhook is paused, or why the last attempt failed.'),
  last_event: z.number().int().describe('The last event that was delivered or skipped.'),
  attempts: z.number().int().describe('Attempts to deliver the event that is pending.'),
  next_attempt_at: timestamp.nullable(),
  created_by: uuid.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
})
export type Webhook = z.infer<typeof webhook>

export const webhookDelivery = named('WebhookDelivery', {
  delivery_id: uuid,
  event_id: z.number().int().nullable().describe('Null for a ping.'),
  event_type: z.string(),
  status: z.enum(['waiting', 'delivered', 'failed']).describe('`waiting`: not delivered yet. `failed`: given up.'),
  attempts: z.number().int(),
  http_status: z.number().int().nullable(),
  error: z.string().nullable().describe('Why the last attempt failed.'),
  answer: z.string().nullable().describe("The beginning of the receiver's last answer, at most 1 KiB."),
  ms: z.number().int().nullable(),
  created_at: timestamp,
  last_attempt_at: timestamp.nullable(),
})
export type WebhookDelivery = z.infer<typeof webhookDelivery>

const url = z.string().trim().min(1).max(2048)
const events = z.array(eventPattern).min(1).max(50)
const secret = z.string().regex(/^[\x21-\x7e]{16,200}$/, 'must be 16 to 200 printable characters without a space')

const base = '/v1/projects/:projectId/webhooks'

export const listWebhooksRoute = route.get('project-admin', base, {
  name: 'listWebhooks',
  summary: 'List the webhooks of a project',
  description: 'Never their secrets.',
  ...wholeList('webhooks', 'webhook_id'),
  reply: z.object({ webhooks: z.array(webhook) }),
})

export const createWebhookRoute = route.post('project-admin', base, {
  name: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Sends signed events, beginning with the next one. `secret` is in this answer only. A project has at most 20.',
  errors: ['limit_reached', 'unprocessable'],
  body: z.object({ url, events: events.default(['*']), secret: secret.optional() }),
  status: 201,
  idempotent: true,
  secretReply: true,
  example: { body: { url: 'http://127.0.0.1:9000/hooks/svc', events: ['change_request.*', 'session.failed'] } },
  reply: webhook.extend({ secret: z.string() }),
})

export const updateWebhookRoute = route.patch('project-admin', `${base}/:webhookId`, {
  name: 'updateWebhook',
  summary: 'Change a webhook',
  description: 'Changes its URL, events or secret, or pauses and resumes it. `from_now` drops undelivered events.',
  errors: ['unprocessable'],
  body: z.object({
    url: url.optional(),
    events: events.optional(),
    paused: z.boolean().optional(),
    from_now: z.boolean().optional().describe('`true` drops the events that were not delivered yet.'),
    rotate_secret: z.boolean().optional().describe('`true` creates a new secret and returns it.'),
    secret: secret.optional(),
  }),
  example: { body: { paused: true } },
  reply: webhook.extend({ secret: z.string().nullable() }),
})

export const deleteWebhookRoute = route.delete('project-admin', `${base}/:webhookId`, {
  name: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent to it.',
  reply: ok,
})

export const listDeliveriesRoute = route.get('project-admin', `${base}/:webhookId/deliveries`, {
  name: 'listDeliveries',
  summary: 'List the deliveries of a webhook',
  description: 'Newest first, each with the answer of the receiver (at most 1 KiB).',
  query: page,
  reply: z.object({ deliveries: z.array(webhookDelivery) }),
})

export const redeliverRoute = route.post('project-admin', `${base}/:webhookId/deliveries/:deliveryId/redeliver`, {
  name: 'redeliver',
  summary: 'Deliver an event again',
  description: 'Under the id of its first delivery.',
  status: 202,
  idempotent: true,
  reply: webhookDelivery,
})

export const pingWebhookRoute = route.post('project-admin', `${base}/:webhookId/ping`, {
  name: 'pingWebhook',
  summary: 'Send a ping to a webhook',
  description: 'Also while the webhook is paused.',
  status: 202,
  idempotent: true,
  reply: webhookDelivery,
})
