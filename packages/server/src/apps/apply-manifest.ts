/** Updates the apps to match the manifest of the default branch, and queues a deploy of each app that changed. */
import { createHash } from 'node:crypto'
import { type ManifestApp, type ManifestIssue, secretsNamedIn } from '@svc/contract'
import { type CallOptions, listTree, type Repository } from '@svc/git'
import { userWhoMerged } from '../change-requests/merged-by-store.ts'
import { serializeOnProject } from '../db/reconciliations.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { type DefaultBranchRow, getDefaultBranch } from '../projects/default-branch.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { sealedSecrets } from '../secrets/store.ts'
import {
  type AppRow,
  deleteApps,
  insertApp,
  insertDeploy,
  lockApps,
  projectsAtOnce,
  projectsToReconcile,
  recordReconciliation,
  reconciliation,
  updateApp,
} from './store.ts'

export type ReconcileDeps = Pick<Deps, 'config' | 'db' | 'home' | 'keyring' | 'log' | 'newId' | 'now'>

/** The job: reconciles every project whose default branch or secrets changed. */
export async function applyAppManifests(
  deps: ReconcileDeps,
  signal: AbortSignal,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<'again' | null> {
  const moved = await projectsToReconcile(deps.db, {
    provider: deps.config.appProvider,
    changed,
    home: deps.home,
  })
  let isAll = moved.length < projectsAtOnce
  for (const project_id of moved) {
    if (signal.aborted) return null
    try {
      await reconcileProject(deps, project_id, signal)
    } catch (error) {
      isAll = false
      deps.log.warn({ err: error, project_id }, 'reconciling the apps of a project failed; retrying')
    }
  }
  return isAll ? null : 'again'
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
    // A switch of an app records an event while it holds the app, so a stronger lock would deadlock with it.
    const now = await serializeOnProject(trx, projectId)
    const current = await getDefaultBranch(trx, projectId)
    const before = await reconciliation(trx, projectId)
    if (now?.secrets_revision !== seen.revision || current?.sha !== branch.sha || isDone(before, seen)) return
    // No earlier reconciliation: the project has no apps yet, or was deleted and restored.
    await apply(deps, trx, { project, seen, hashes, wasOff: before?.provider !== seen.provider })
    await recordReconciliation(trx, {
      project_id: projectId,
      sha: branch.sha,
      branch: branch.branch,
      secrets_revision: seen.revision,
      provider: seen.provider,
    })
  })
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
  // The manifest leaves out an invalid entry, which must not delete its running app.
  const gone = rows.filter(({ slug }) => !manifest.apps.some((app) => app.slug === slug)).map(({ slug }) => slug)
  if (!appMistakes(issues).some(({ severity }) => severity === 'error')) await deleteApps(trx, project.project_id, gone)
  const mergedBy = sha === null ? null : await userWhoMerged(trx, project.project_id, sha)
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
        deploy_id: deps.newId(),
        project_id: project.project_id,
        slug: app.slug,
        hash,
        commit_sha: sha,
        definition: JSON.stringify(app),
        cause: 'default_branch',
        created_by: mergedBy,
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

export function appMistakes(issues: ManifestIssue[]): ManifestIssue[] {
  return issues.filter(({ path }) => path === '' || /^apps(\.|$)/.test(path))
}

/** One hash of everything an app is made from: an unchanged hash needs no deploy. `versions`: of the secrets, by name. */
async function appHash(
  repository: Repository,
  input: { app: ManifestApp; commit: string; versions: Map<string, number> },
  options: CallOptions,
): Promise<string> {
  const { app, commit, versions } = input
  // Enabling an app does not change what it is made from.
  const { enabled: _, ...entry } = app
  const secrets = secretsNamedIn(app.env).map((name) => [name, versions.get(name) ?? 0])
  const text = JSON.stringify([ordered(entry), await sourceOf(repository, app, commit, options), secrets])
  return createHash('sha256').update(text).digest('hex')
}

/** A static app is made from its folder. Any other app is made from the whole repository except svc.toml, whose entry is hashed separately. */
async function sourceOf(repository: Repository, app: ManifestApp, commit: string, options: CallOptions) {
  const folder = app.build === null && app.static_dir !== null ? app.static_dir : ''
  const entries = (await listTree(repository, { sha: commit, path: folder }, options)) ?? []
  return entries
    .filter(({ name }) => folder !== '' || name !== 'svc.toml')
    .map(({ name, type, sha }) => `${type} ${sha} ${name}`)
    .sort()
}

/** Sorts keys, because PostgreSQL reorders those of jsonb. */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, ordered(item)])
}

const labelCharsMax = 63

/**
 * Candidates for the first label of the host name, in order of preference; the last is unique because it contains the
 * project id. All projects share these names, so each app stores its own.
 */
function hostNames(input: { app: string; projectSlug: string; projectId: string }): string[] {
  // `xn--` marks an internationalized domain name.
  const app = input.app === 'xn' ? 'app-xn' : input.app
  const plain = `${app}--${input.projectSlug}`
  const id = input.projectId.slice(0, 8)
  const room = labelCharsMax - app.length - id.length - 3
  const short = input.projectSlug.slice(0, Math.max(0, room)).replace(/-+$/, '')
  const exact = `${app}--${[short, id].filter((part) => part !== '').join('-')}`
  const longest = `${app.slice(0, 24).replace(/-+$/, '')}--${input.projectId}`
  return [plain, exact, longest].filter((name) => name.length <= labelCharsMax && !isPreview(name))
}

/** Host names of previews take precedence. */
export const isPreview = (name: string) => /^[1-9][0-9]{0,4}--[0-9a-f-]{36}$/.test(name)
