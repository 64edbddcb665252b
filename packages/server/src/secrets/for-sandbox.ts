import type { Manifest } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { openSecrets } from './change.ts'

/**
 * What a sandbox gets of the project's secrets: all but the credentials of its connectors. Those are added on the
 * server, to the calls that need them, so that no agent can read or lose them. The names are told all the same.
 */
export async function secretsForSandbox(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  project: ProjectRow,
  manifest: Pick<Manifest, 'connectors'>,
): Promise<{ env: Record<string, string>; names: string[] }> {
  const all = await openSecrets(deps, project)
  const kept = new Set(manifest.connectors.map(({ auth }) => auth?.secret_env ?? null))
  return {
    env: Object.fromEntries(Object.entries(all).filter(([name]) => !kept.has(name))),
    names: Object.keys(all),
  }
}
