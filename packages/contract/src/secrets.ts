import { z } from 'zod'
import { ok, route, timestamp, uuid } from './route.ts'

export const secretValueBytesMax = 64 * 1024
export const secretBytesOfAllMax = 512 * 1024

/** Names a loader or a shell acts on before any program of ours runs. */
const refusedNames =
  /^(SVC_.*|BUN_.*|LD_.*|DYLD_.*|NODE_OPTIONS|BASH_ENV|ENV|PATH|HOME|SHELL|IFS|GIT_.*|RUNTIME_CONFIG_DIR|OPENCODE_.*)$/i

export function refuseSecretName(name: string): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
    return 'A secret name has letters, digits and underscores, and does not start with a digit.'
  if (/^SVC_/i.test(name)) return 'Names that start with SVC_ belong to the platform.'
  if (refusedNames.test(name)) return `${name} would change how programs start, so it cannot be a secret.`
  return null
}

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
