/** Updates the connector rows from the manifest of the default branch. */
import type { ManifestConnector } from '@svc/contract'
import {
  isReconciled,
  projectsAtOnce,
  projectsToReconcile,
  recordReconciliation,
  serializeOnProject,
} from '../db/reconciliations.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { currentManifest, type DefaultBranchRow, getDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'
import { deleteConnectors, listConnectors, setPosition, upsertConnector } from './store.ts'

const done = 'connector_reconciliations'

/** Refreshes the branch first, so that a merge from a second ago shows. */
export async function refreshConnectors(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'log'>,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<void> {
  await currentManifest(deps, project, signal)
  await reconcileConnectors(deps, project.project_id)
}

export async function reconcileConnectors(deps: Pick<Deps, 'db'>, projectId: string): Promise<void> {
  const seen = await getDefaultBranch(deps.db, projectId)
  if (seen === null || (await isReconciled(deps.db, done, seen))) return
  await deps.db.transaction().execute(async (trx) => {
    const project = await serializeOnProject(trx, projectId)
    const now = await getDefaultBranch(trx, projectId)
    if (project === undefined || now === null || (await isReconciled(trx, done, now))) return
    await writeConnectors(trx, now, project.secrets_revision)
  })
}

/** The job. It finds every branch that moved, whether by a merge or an external push. */
export async function reconcileMovedConnectors(
  deps: Pick<Deps, 'db'>,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<'again' | null> {
  const moved = await projectsToReconcile(deps.db, done, changed)
  for (const projectId of moved) await reconcileConnectors(deps, projectId)
  return moved.length < projectsAtOnce ? null : 'again'
}

async function writeConnectors(trx: DbOrTransaction, seen: DefaultBranchRow, secretsRevision: number): Promise<void> {
  const rows = await listConnectors(trx, seen.project_id)
  const wanted = seen.manifest.connectors
  const gone = rows.filter((row) => !wanted.some(({ slug }) => slug === row.slug)).map((row) => row.slug)
  await deleteConnectors(trx, seen.project_id, gone)
  for (const [position, definition] of wanted.entries()) {
    const row = rows.find(({ slug }) => slug === definition.slug)
    if (row !== undefined && definitionText(row.definition) === definitionText(definition))
      await setPosition(trx, row, position)
    else
      await upsertConnector(trx, {
        project_id: seen.project_id,
        slug: definition.slug,
        position,
        definition: JSON.stringify(definition),
        status: 'unchecked',
        error: null,
        hint: null,
        tools: '[]',
        checked_at: null,
        check_due_at: new Date(0),
        failures: 0,
        secrets_revision: secretsRevision,
      })
  }
  await recordReconciliation(trx, done, seen)
}

/** PostgreSQL reorders the keys of jsonb. */
const definitionText = ({ slug, type, url, auth }: ManifestConnector) =>
  JSON.stringify([slug, type, url, auth === null ? null : [auth.type, auth.secret_env, auth.header]])
