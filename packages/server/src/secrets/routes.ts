import { deleteSecretRoute, listSecretsRoute, setSecretRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { readManifest } from '../projects/manifest.ts'
import { deleteSecret, setSecret } from './change.ts'
import { listSecrets } from './store.ts'

export function secretRoutes(deps: Deps): Mounted[] {
  return [
    handle(listSecretsRoute, async ({ project }) => {
      const items = await listSecrets(deps.db, project.project_id)
      const { env } = await readManifest(deps, project)
      const names = new Set(items.map((item) => item.name))
      return {
        items,
        required: env.required,
        optional: env.optional,
        missing: env.required.filter((name) => !names.has(name)),
        revision: String(project.secrets_revision),
      }
    }),
    handle(setSecretRoute, async ({ project, caller, body }) =>
      setSecret(deps, { project, caller, name: body.name, value: body.value }),
    ),
    handle(deleteSecretRoute, async ({ project, caller, params }) => {
      await deleteSecret(deps, { project, caller, name: params.name })
      return { ok: true }
    }),
  ]
}
