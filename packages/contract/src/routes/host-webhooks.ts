import { z } from 'zod'
import { named, route, timestamp } from '../route.ts'

export const hostWebhook = named('HostWebhook', {
  url: z.string().describe('The URL to enter at the git host.'),
  secret: z.string().nullable().describe('Null until a secret is created. Without one, calls are refused.'),
  last_call_at: timestamp.nullable(),
  last_sender: z
    .string()
    .nullable()
    .describe('The kind of sender of that call: `github`, `gitlab`, `gitea` or `plain`.'),
})
export type HostWebhook = z.infer<typeof hostWebhook>

const path = '/v1/projects/:projectId/host-webhook'

export const getHostWebhookRoute = route.get('project-admin', path, {
  name: 'getHostWebhook',
  summary: 'Get the webhook that the git host calls',
  description: 'Enter its URL and secret at the git host, so that pushes are seen at once.',
  reply: hostWebhook,
})

export const rotateHostWebhookRoute = route.post('project-admin', `${path}/rotate`, {
  name: 'rotateHostWebhook',
  summary: "Create a new secret for the git host's webhook",
  description: 'The earlier secret stops working.',
  idempotent: true,
  secretReply: true,
  reply: hostWebhook,
})
