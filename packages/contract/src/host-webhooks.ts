import { z } from 'zod'
import { route, timestamp } from './route.ts'

export const hostWebhook = z.object({
  /** What the git host is told to call. */
  url: z.string(),
  /** Null: none was made yet, and nothing is taken. */
  secret: z.string().nullable(),
  last_call_at: timestamp.nullable(),
  /** What that call looked like: `github`, `gitlab`, `gitea` or `plain`. */
  last_sender: z.string().nullable(),
})
export type HostWebhook = z.infer<typeof hostWebhook>

const path = '/v1/projects/:projectId/host-webhook'

export const getHostWebhookRoute = route({
  name: 'getHostWebhook',
  summary: 'What to enter at the git host, so that pushes are seen at once',
  method: 'GET',
  path,
  access: 'project-admin',
  reply: hostWebhook,
})

export const rotateHostWebhookRoute = route({
  name: 'rotateHostWebhook',
  summary: 'Make a secret for the git host; the one before it is taken no more',
  method: 'POST',
  path: `${path}/rotate`,
  access: 'project-admin',
  idempotent: true,
  secretReply: true,
  reply: hostWebhook,
})
