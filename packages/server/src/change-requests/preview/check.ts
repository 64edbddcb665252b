/** Checks whether an open change request merges, and stores what a list says about it. */
import { emptyManifest, hasErrors, manifestPath, type MergePreview } from '@svc/contract'
import { changedFiles, findCollisions, previewMerge, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { readManifestFileAt } from '../../projects/manifest.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { confirmations } from '../effects/confirmations.ts'
import { recordChangeRequestEvent } from '../record-event.ts'
import { type ChangeRequestRow, lockChangeRequest } from '../store.ts'
import { type Checked, recordCheck } from './check-store.ts'
import { pairOf, pathsKept, recordCollisions, recordFacts, uncomparedNeighbors } from './facts-store.ts'

interface ToCheck {
  cr: ChangeRequestRow
  base: string
  head: string
  /** Whether it merges into the default branch: into another one it has no effects beyond code. */
  isDefault: boolean
}

/** False when the repository does not have the commits. */
export async function checkChangeRequest(
  deps: Pick<Deps, 'db' | 'log'>,
  repository: Repository,
  { cr, base, head, isDefault }: ToCheck,
  signal: AbortSignal,
): Promise<boolean> {
  const fetched = await fetchForRequest(repository, [base, head], signal)
  if (fetched.kind !== 'present') return false
  const pair = { baseSha: base, headSha: head }
  const preview = await previewMerge(repository, pair, { signal })
  const changed = await changedFiles(repository, pair, { signal })
  const confirms =
    isDefault && changed.paths.includes(manifestPath) ? await confirmsOf(repository, preview, signal) : []
  const { issues } = await readManifestFileAt(repository, head, { signal })
  await deps.db.transaction().execute(async (trx) => {
    const now = await lockChangeRequest(trx, cr.project_id, cr.cr_id)
    // It moved or ended meanwhile, so leave it to the next poll.
    if (now.status !== 'open' || now.base_commit_sha !== base || now.head_commit_sha !== head) return
    const checked: Checked = { cr_id: cr.cr_id, base_sha: base, head_sha: head, can_merge: preview.can_merge }
    const couldBefore = await recordCheck(trx, checked)
    await recordFacts(trx, {
      cr_id: cr.cr_id,
      pair: pairOf(base, head),
      is_up_to_date: preview.is_up_to_date,
      conflicts: storable(preview.conflicts),
      conflict_count: preview.conflicts.length,
      additions: changed.additions,
      deletions: changed.deletions,
      paths: storable(changed.paths),
      path_count: changed.files,
      confirm_count: confirms.length,
      manifest_invalid: hasErrors(issues),
    })
    if (couldBefore === preview.can_merge) return
    if (preview.can_merge) await recordChangeRequestEvent(trx, 'change_request.clean', now, null)
    else await recordChangeRequestEvent(trx, 'change_request.conflicted', now, null, { conflicts: preview.conflicts })
  })
  return true
}

/** As the panel of the change request counts them. */
async function confirmsOf(repository: Repository, preview: MergePreview, signal: AbortSignal): Promise<string[]> {
  const { merge_base: base, head_sha: head } = preview
  const before = base === null ? emptyManifest : (await readManifestFileAt(repository, base, { signal })).manifest
  return confirmations(before, await readManifestFileAt(repository, head, { signal }))
}

/** PostgreSQL stores no NUL character, which a path cannot contain either, and no half of a surrogate pair. */
const storable = (paths: string[]) => paths.slice(0, pathsKept).map((path) => path.toWellFormed())

/** Neighbors to compare with at a time: each costs a merge. */
const neighborsMax = 8

/** Compares it with the open change requests that change the same files. Both are checked already. */
export async function compareWithNeighbors(
  deps: Pick<Deps, 'db' | 'log'>,
  repository: Repository,
  { cr, base, head }: Omit<ToCheck, 'isDefault'>,
  signal: AbortSignal,
): Promise<void> {
  const of = { crId: cr.cr_id, base, head }
  const neighbors = await uncomparedNeighbors(deps.db, { ...of, limit: neighborsMax })
  const heads = neighbors.map((each) => each.head_commit_sha)
  const fetched = heads.length === 0 ? null : await fetchForRequest(repository, heads, signal)
  if (fetched !== null && fetched.kind !== 'present') return
  const found =
    heads.length === 0
      ? new Map<string, string[]>()
      : await findCollisions(repository, { baseSha: base, headSha: head, others: heads }, { signal })
  const files = (sha: string) => storable(found.get(sha) ?? [])
  const compared = neighbors.map((each) => ({ ...each, files: files(each.head_commit_sha) }))
  await deps.db.transaction().execute((trx) => recordCollisions(trx, { ...of, found: compared }))
}
