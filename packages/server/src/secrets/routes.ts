import { deleteSecretRoute, listSecretsRoute, setSecretRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { currentManifest } from '../projects/default-branch.ts'
import { readManifest } from '../projects/manifest.ts'
import { shortCredential } from '../redaction/short-credential.ts'
import { deleteSecret, setSecret } from './change.ts'
import { listSecrets } from './store.ts'
import { neededSecrets } from './uses.ts'

export function secretRoutes(deps: Deps): Mounted[] {
  return [
    handle(listSecretsRoute, async ({ project }) => {
      const items = await listSecrets(deps.db, project.project_id)
      const manifest = await readManifest(deps, project)
      const { env } = manifest
      const needed = neededSecrets(manifest)
      const names = new Set(items.map((item) => item.name))
      return {
        items,
        required: env.required,
        optional: env.optional,
        needed,
        missing: needed.map(({ name }) => name).filter((name) => !names.has(name)),
        revision: String(project.secrets_revision),
      }
    }),
    handle(setSecretRoute, async ({ project, caller, body, request }) => {
      const set = await setSecret(deps, { project, caller, name: body.name, value: body.value })
      const { connectors } = await currentManifest(deps, project)
      if (connectors.some(({ auth }) => auth?.secret_env === body.name))
        request.warnings.push(...shortCredential(`The credential ${body.name} of a connector`, body.value))
      return set
    }),
    handle(deleteSecretRoute, async ({ project, caller, params }) => {
      await deleteSecret(deps, { project, caller, name: params.name })
      return { ok: true }
    }),
  ]
}
