/** Detects where the default branch of a project is. Jobs that read this row do what follows from a move. */
import { emptyManifest, type Manifest } from '@svc/contract'
import { readTips } from '@svc/git'
import type { Deps } from '../deps.ts'
import { recordEvent } from '../events/record.ts'
import {
  databaseTime,
  type DefaultBranchRow,
  getDefaultBranch,
  lockDefaultBranch,
  upsertDefaultBranch,
} from './default-branch-store.ts'
import { readManifestFileAt } from './manifest.ts'
import { openRepository, unreachable } from './repository.ts'
import { type ProjectRow, setConfigDir } from './store.ts'

export { type DefaultBranchRow, getDefaultBranch } from './default-branch-store.ts'
type DetectDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log' | 'now'>

/** Reads the tip and records it. Throws when the repository cannot be reached. */
export async function detectDefaultBranch(
  deps: DetectDeps,
  project: ProjectRow,
  signal?: AbortSignal,
): Promise<DefaultBranchRow> {
  const { project_id, default_branch: branch } = project
  const checkedAt = await databaseTime(deps.db)
  const repository = await openRepository(deps, project)
  const options = signal === undefined ? {} : { signal }
  const tips = await readTips(repository, [branch], options)
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(branch) ?? null
  const hasMovedFrom = (row: Pick<DefaultBranchRow, 'branch' | 'sha'>) => row.sha !== sha || row.branch !== branch
  const known = await getDefaultBranch(deps.db, project_id)
  const hasMoved = known === null || hasMovedFrom(known)
  const { manifest, issues } =
    hasMoved && sha !== null
      ? await readManifestFileAt(repository, sha, options)
      : { manifest: emptyManifest, issues: [] }
  const found = { branch, sha, manifest: JSON.stringify(manifest), issues: JSON.stringify(issues) }
  await deps.db.transaction().execute(async (trx) => {
    const before = await lockDefaultBranch(trx, project_id)
    const poll = { project_id, checked_at: checkedAt }
    const isWritten = await upsertDefaultBranch(trx, poll, { ...found, moved_at: deps.now() }, hasMoved)
    if (isWritten && hasMoved && before !== null && hasMovedFrom(before))
      await recordEvent(trx, {
        project_id,
        type: 'default_branch.moved',
        data: { branch, before: before.branch === branch ? before.sha : null, sha },
      })
  })
  const { config_dir } = manifest.runtime
  if (hasMoved && sha !== null && config_dir !== project.config_dir) await setConfigDir(deps.db, project_id, config_dir)
  return (await getDefaultBranch(deps.db, project_id)) ?? Promise.reject(unreachable('it was deleted'))
}

/** The manifest in force: that of the branch's tip, or the last known one while its host is unavailable. */
export async function currentManifest(deps: DetectDeps, project: ProjectRow, signal?: AbortSignal): Promise<Manifest> {
  try {
    return (await detectDefaultBranch(deps, project, signal)).manifest
  } catch (error) {
    deps.log.debug({ err: error, project_id: project.project_id }, 'using the last known manifest')
    return (await getDefaultBranch(deps.db, project.project_id))?.manifest ?? emptyManifest
  }
}
