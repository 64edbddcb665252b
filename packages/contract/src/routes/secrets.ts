import { z } from 'zod'
import { named, ok, route, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'

export const secretValueBytesMax = 64 * 1024
export const secretBytesOfAllMax = 512 * 1024

export const secret = named('Secret', {
  name: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  created_by: uuid.nullable(),
})
export type Secret = z.infer<typeof secret>

/** An entry of `svc.toml` that needs a secret; `env` is the list `[env] required`, which has no slug. */
export const secretConsumer = z.object({
  kind: z.enum(['env', 'trigger', 'app', 'connector']),
  slug: z.string().nullable(),
})
export type SecretConsumer = z.infer<typeof secretConsumer>

export const listSecretsRoute = route.get('project-read', '/v1/projects/:projectId/secrets', {
  name: 'listSecrets',
  summary: 'List the names of secrets',
  description:
    'Never a value. `required` and `optional` are those of `[env]` in svc.toml, `needed` are all that an entry of svc.toml needs, and `missing` are those of them that the project lacks.',
  errors: [...repositoryErrors],
  ...wholeList('items', 'name'),
  reply: z.object({
    items: z.array(secret),
    required: z.array(z.string()),
    optional: z.array(z.string()),
    needed: z.array(z.object({ name: z.string(), needed_by: z.array(secretConsumer) })),
    missing: z.array(z.string()),
    revision: z.string(),
  }),
})

export const setSecretRoute = route.post('project-write', '/v1/projects/:projectId/secrets', {
  name: 'setSecret',
  summary: 'Set a secret',
  description:
    'A value has at most 64 KiB, and all values of a project together at most 512 KiB. Sandboxes that start later get it.',
  errors: ['reserved_name', 'quota_exceeded', ...repositoryErrors, 'unprocessable'],
  effect: 'adds',
  body: z.object({ name: z.string(), value: z.string() }),
  example: { body: { name: 'API_KEY', value: 'a value that only sandboxes see' } },
  reply: secret,
})

export const deleteSecretRoute = route.delete('project-write', '/v1/projects/:projectId/secrets/:name', {
  name: 'deleteSecret',
  summary: 'Delete a secret',
  description: 'Running sandboxes keep it until they stop.',
  reply: ok,
})
