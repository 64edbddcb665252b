/** From the manifest of a default branch to the rows of its connectors. */
import type { ManifestConnector } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { type DefaultBranchRow, getDefaultBranch, noticeDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'
import { deleteConnectors, listConnectors, moveConnector, upsertConnector } from './store.ts'

/** Looks at the branch first, as a merge a second ago is expected to show. A host that is away is no reason to show nothing. */
export async function bringUpToDate(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'now' | 'log'>,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<void> {
  try {
    await noticeDefaultBranch(deps, project, signal)
  } catch (error) {
    deps.log.debug({ err: error, project_id: project.project_id }, 'connectors are shown as they were last seen')
  }
  await reconcileConnectors(deps, project.project_id)
}

export async function reconcileConnectors(deps: Pick<Deps, 'db'>, projectId: string): Promise<void> {
  const seen = await getDefaultBranch(deps.db, projectId)
  if (seen === null || (await isReconciled(deps.db, seen))) return
  await deps.db.transaction().execute(async (trx) => {
    // Two servers take turns, and the second finds it done.
    const project = await trx
      .selectFrom('projects')
      .select('secrets_revision')
      .where('project_id', '=', projectId)
      .forNoKeyUpdate()
      .executeTakeFirst()
    const now = await getDefaultBranch(trx, projectId)
    if (project === undefined || now === null || (await isReconciled(trx, now))) return
    await write(trx, now, project.secrets_revision)
  })
}

/** The job: whatever moved since, by a merge or by a push from outside. */
export async function reconcileMovedConnectors(deps: Pick<Deps, 'db'>): Promise<void> {
  const rows = await deps.db
    .selectFrom('default_branches')
    .leftJoin('connector_reconciliations as done', 'done.project_id', 'default_branches.project_id')
    .select('default_branches.project_id')
    .where(({ eb, or }) =>
      or([
        eb('done.project_id', 'is', null),
        eb('done.branch', '!=', eb.ref('default_branches.branch')),
        eb('done.sha', 'is distinct from', eb.ref('default_branches.sha')),
      ]),
    )
    .limit(200)
    .execute()
  for (const { project_id } of rows) await reconcileConnectors(deps, project_id)
}

async function write(trx: DbOrTransaction, seen: DefaultBranchRow, secretsRevision: number): Promise<void> {
  const rows = await listConnectors(trx, seen.project_id)
  const wanted = seen.manifest.connectors
  const gone = rows.filter((row) => !wanted.some(({ slug }) => slug === row.slug)).map((row) => row.slug)
  await deleteConnectors(trx, seen.project_id, gone)
  for (const [position, definition] of wanted.entries()) {
    const row = rows.find(({ slug }) => slug === definition.slug)
    if (row !== undefined && textOf(row.definition) === textOf(definition)) await moveConnector(trx, row, position)
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
  const done = { sha: seen.sha, branch: seen.branch }
  await trx
    .insertInto('connector_reconciliations')
    .values({ project_id: seen.project_id, ...done })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(done))
    .execute()
}

async function isReconciled(db: DbOrTransaction, seen: DefaultBranchRow): Promise<boolean> {
  const done = await db
    .selectFrom('connector_reconciliations')
    .select(['sha', 'branch'])
    .where('project_id', '=', seen.project_id)
    .executeTakeFirst()
  return done !== undefined && done.sha === seen.sha && done.branch === seen.branch
}

/** PostgreSQL keeps jsonb in an order of its own. */
const textOf = ({ slug, type, url, auth }: ManifestConnector) =>
  JSON.stringify([slug, type, url, auth === null ? null : [auth.type, auth.secret_env, auth.header]])
