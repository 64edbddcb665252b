/** Brings the rows of the apps to what the manifest of the default branch says, and asks for a deploy of what changed. */
import type { ManifestApp, ManifestIssue } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { type DefaultBranchRow, getDefaultBranch } from '../projects/default-branch.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { sealedSecrets } from '../secrets/store.ts'
import { appHash } from './hash.ts'
import { hostNames } from './host-name.ts'
import { type AppRow, deleteApps, insertApp, insertDeploy, lockApps, updateApp, whoMerged } from './store.ts'

export type ReconcileDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log' | 'newId' | 'now'>

/** The job: every project whose default branch or secrets are not those its apps were made from. */
export async function reconcileApps(deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  const { rows } = await sql<{ project_id: string }>`
    select d.project_id from default_branches d join projects p on p.project_id = d.project_id
    left join app_reconciliations r on r.project_id = d.project_id
    where r.project_id is null or r.sha is distinct from d.sha or r.branch <> d.branch
      or r.secrets_revision <> p.secrets_revision or r.provider <> ${deps.config.appProvider}
    order by d.moved_at limit 100`.execute(deps.db)
  for (const { project_id } of rows) {
    if (signal.aborted) return
    try {
      await reconcileProject(deps, project_id, signal)
    } catch (error) {
      deps.log.warn({ err: error, project_id }, 'the apps of a project were not looked at; they are looked at again')
    }
  }
}

interface Seen {
  branch: DefaultBranchRow
  revision: number
  provider: string
}

export async function reconcileProject(deps: ReconcileDeps, projectId: string, signal: AbortSignal): Promise<void> {
  const project = await getProject(deps.db, projectId)
  const branch = await getDefaultBranch(deps.db, projectId)
  if (project === null || branch === null) return
  const seen = { branch, revision: project.secrets_revision, provider: deps.config.appProvider }
  if (isDone(await reconciliation(deps.db, projectId), seen)) return
  const hashes = await hashesOf(deps, project, branch, signal)
  await deps.db.transaction().execute(async (trx) => {
    // Two servers take turns, and the second finds it done. What moved since it was read is left to the next look. Who
    // switches an app meanwhile has it locked and tells of it in the project: shut out of that, we would wait for each other.
    const now = await trx
      .selectFrom('projects')
      .select(['slug', 'secrets_revision'])
      .where('project_id', '=', projectId)
      .forNoKeyUpdate()
      .executeTakeFirst()
    const current = await getDefaultBranch(trx, projectId)
    const before = await reconciliation(trx, projectId)
    if (now?.secrets_revision !== seen.revision || current?.sha !== branch.sha || isDone(before, seen)) return
    await apply(deps, trx, { project, seen, hashes, wasOff: before !== null && before.provider !== seen.provider })
    const row = { sha: branch.sha, branch: branch.branch, secrets_revision: seen.revision, provider: seen.provider }
    await trx
      .insertInto('app_reconciliations')
      .values({ project_id: projectId, ...row })
      .onConflict((conflict) => conflict.column('project_id').doUpdateSet(row))
      .execute()
  })
}

async function reconciliation(db: DbOrTransaction, projectId: string): Promise<Row<'app_reconciliations'> | null> {
  const row = await db
    .selectFrom('app_reconciliations')
    .selectAll()
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return row ?? null
}

const isDone = (row: Row<'app_reconciliations'> | null, { branch, revision, provider }: Seen) =>
  row !== null &&
  row.sha === branch.sha &&
  row.branch === branch.branch &&
  row.secrets_revision === revision &&
  row.provider === provider

async function hashesOf(
  deps: ReconcileDeps,
  project: ProjectRow,
  { sha, manifest }: DefaultBranchRow,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  if (sha === null || manifest.apps.length === 0) return hashes
  const repository = await openRepository(deps, project)
  const versions = new Map((await sealedSecrets(deps.db, project.project_id)).map((row) => [row.name, row.version]))
  for (const app of manifest.apps)
    hashes.set(app.slug, await appHash(repository, { app, commit: sha, versions }, { signal }))
  return hashes
}

async function apply(
  deps: Pick<Deps, 'newId'>,
  trx: DbOrTransaction,
  input: { project: ProjectRow; seen: Seen; hashes: Map<string, string>; wasOff: boolean },
): Promise<void> {
  const { project, seen, hashes } = input
  const { manifest, issues, sha } = seen.branch
  const rows = await lockApps(trx, project.project_id)
  // An entry with a mistake in it is left out of the manifest. That is no reason to stop what runs.
  const gone = rows.filter(({ slug }) => !manifest.apps.some((app) => app.slug === slug)).map(({ slug }) => slug)
  if (!appMistakes(issues).some(({ severity }) => severity === 'error')) await deleteApps(trx, project.project_id, gone)
  const mergedBy = sha === null ? null : await whoMerged(trx, project.project_id, sha)
  for (const [position, app] of manifest.apps.entries()) {
    const row = rows.find(({ slug }) => slug === app.slug) ?? null
    const hash = hashes.get(app.slug) ?? null
    const set = { position, definition: JSON.stringify(app), enabled: app.enabled, hash }
    const isNew = row === null || row.hash !== hash
    const commit = isNew ? sha : row.commit_sha
    if (row === null) await insertNamed(trx, project, app, { ...set, commit_sha: commit })
    else await updateApp(trx, row, { ...set, commit_sha: commit })
    const isWanted = seen.provider !== 'none' && app.enabled && (row === null || row.desired === 'running')
    const comesBack = row !== null && row.live_deploy_id === null && (!row.enabled || input.wasOff)
    if (isWanted && hash !== null && sha !== null && (isNew || comesBack))
      await insertDeploy(trx, {
        ...{ deploy_id: deps.newId(), project_id: project.project_id, slug: app.slug, hash, commit_sha: sha },
        ...{ definition: JSON.stringify(app), cause: 'default_branch', created_by: mergedBy },
      })
  }
}

async function insertNamed(
  trx: DbOrTransaction,
  project: ProjectRow,
  app: ManifestApp,
  set: Pick<AppRow, 'position' | 'enabled' | 'hash' | 'commit_sha'> & { definition: string },
): Promise<void> {
  const { project_id, slug: projectSlug } = project
  for (const host of hostNames({ app: app.slug, projectSlug, projectId: project_id }))
    if (await insertApp(trx, { project_id, slug: app.slug, host, ...set })) return
  throw new Error(`No name is free for the app ${app.slug} of project ${project_id}.`)
}

/** Of the file as a whole, or of its apps. */
export function appMistakes(issues: ManifestIssue[]): ManifestIssue[] {
  return issues.filter(({ path }) => path === '' || /^apps(\.|$)/.test(path))
}
