import { z } from 'zod'
import { ok, pageOfWhole, route, timestamp, uuid } from './route.ts'

export const secretValueBytesMax = 64 * 1024
export const secretBytesOfAllMax = 512 * 1024

export const secret = z.object({
  name: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  created_by: uuid.nullable(),
})
export type Secret = z.infer<typeof secret>

export const listSecretsRoute = route({
  name: 'listSecrets',
  summary: 'The names of the secrets and what the manifest asks for; never a value',
  method: 'GET',
  path: '/v1/projects/:projectId/secrets',
  access: 'project-read',
  query: pageOfWhole,
  pages: { list: 'items', by: 'name' },
  reply: z.object({
    items: z.array(secret),
    required: z.array(z.string()),
    optional: z.array(z.string()),
    missing: z.array(z.string()),
    revision: z.string(),
  }),
})

export const setSecretRoute = route({
  name: 'setSecret',
  summary: 'Set a secret; sandboxes started from now on see it',
  method: 'POST',
  path: '/v1/projects/:projectId/secrets',
  access: 'project-write',
  effect: 'adds',
  body: z.object({ name: z.string(), value: z.string() }),
  reply: secret,
})

export const deleteSecretRoute = route({
  name: 'deleteSecret',
  summary: 'Remove a secret',
  method: 'DELETE',
  path: '/v1/projects/:projectId/secrets/:name',
  access: 'project-write',
  reply: ok,
})
