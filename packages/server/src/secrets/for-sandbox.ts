import type { Manifest } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { openAll, openSealed, type SecretDeps } from './change.ts'
import { insertGiven, sealedGiven } from './given-store.ts'

/** Each secret pushed to a sandbox counts, so that replacing secrets in a loop cannot grow a matcher forever. */
const givenMax = 2_000

/**
 * The secrets that a sandbox of this session receives: all except its connectors' credentials, which the server adds
 * to calls, so that no agent can leak them. Their names are listed. The set is recorded before the sandbox gets it,
 * and the session's text is redacted by it from then on.
 */
export async function secretsForSandbox(
  deps: SecretDeps,
  project: ProjectRow,
  manifest: Pick<Manifest, 'connectors'>,
  sessionId: string,
): Promise<{ env: Record<string, string>; names: string[] }> {
  const all = await openAll(deps, project)
  const kept = new Set(manifest.connectors.map(({ auth }) => auth?.secret_env ?? null))
  const given = all.filter(({ name }) => !kept.has(name))
  await insertGiven(deps.db, { projectId: project.project_id, sessionId }, given)
  deps.redaction.given(sessionId, await givenSecrets(deps, project, sessionId))
  return {
    env: Object.fromEntries(given.map(({ name, value }) => [name, value])),
    names: all.map(({ name }) => name),
  }
}

/**
 * The secrets that an app names. They are recorded under its deploy, whose output is redacted by them from then on, also
 * by the next server and after a value was replaced.
 */
export async function secretsForApp(
  deps: SecretDeps,
  project: ProjectRow,
  { names, deployId, sandboxId }: { names: string[]; deployId: string; sandboxId: string },
): Promise<Record<string, string>> {
  const given = (await openAll(deps, project)).filter(({ name }) => names.includes(name))
  await insertGiven(deps.db, { projectId: project.project_id, sessionId: deployId }, given)
  deps.redaction.given(sandboxId, await givenSecrets(deps, project, deployId))
  return Object.fromEntries(given.map(({ name, value }) => [name, value]))
}

/** Every value that a sandbox of this session or deploy received, in any generation. */
export async function givenSecrets(
  deps: Pick<Deps, 'db' | 'keyring'>,
  project: ProjectRow,
  sessionId: string,
): Promise<[name: string, value: string][]> {
  const rows = await sealedGiven(deps.db, sessionId, givenMax)
  return rows.map((row) => [row.name, openSealed(deps, project, row)])
}
