/**
 * Deletes the branches of sessions once their change requests are merged for as long as SVC_KEEP_BRANCHES says. Every doubt
 * keeps a branch, and it is looked at again a day later.
 */
import { type DeleteBranchOutcome, deleteBranches, isContained, readTips, type Repository } from '@svc/git'
import { recordServiceAudit } from '../../audit/record.ts'
import { withLock } from '../../db/lock.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import { deletionLock } from '../../projects/branch-deletion.ts'
import { writeAtHome } from '../../projects/home-store.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { claimBranches, forgetBranches, lockBranches, releaseBranches } from '../../sessions/create/branch-store.ts'
import { withinTransaction } from '../merge/record.ts'
import { recordChangeRequestEvent } from '../record-event.ts'
import { branchesInUse, holdDefaultBranch, type MergedBranch, mergedBranches } from './merged-queries.ts'

export type DeleteMergedDeps = AcknowledgeDeps & Pick<Deps, 'config' | 'keyring' | 'locks' | 'log'>

/** In one run. */
const branchesMax = 200

/** The job. */
export async function deleteMergedBranches(deps: DeleteMergedDeps, days: number, signal: AbortSignal): Promise<void> {
  const found = await mergedBranches(deps.db, { days, home: deps.home, limit: branchesMax })
  for (const [project_id, branches] of Map.groupBy(found, (each) => each.project_id)) {
    if (signal.aborted) return
    try {
      const project = await getProject(deps.db, project_id)
      if (project === null) continue
      await withLock(deps, deletionLock(project_id), () => deleteIn(deps, project, { branches, signal }))
    } catch (error) {
      // They are looked at again a day later.
      if (!signal.aborted) deps.log.warn({ err: error, project_id }, 'failed to delete merged branches of a project')
    }
  }
}

async function deleteIn(
  deps: DeleteMergedDeps,
  project: ProjectRow,
  { branches, signal }: { branches: MergedBranch[]; signal: AbortSignal },
): Promise<void> {
  const { project_id: projectId } = project
  // Also those of which reading fails, so that they do not keep others waiting.
  await lockBranches(deps.db, { projectId, branches: namesOf(branches) })
  const repository = await openRepository(deps, project)
  const { merged, gone } = await stillMerged(repository, project, { branches, signal })
  if (gone.length > 0) await recordGone(deps, { project, repository, gone })
  const claimed = await claim(deps, projectId, merged)
  const outcomes: Map<string, DeleteBranchOutcome> =
    claimed.length === 0 ? new Map() : await deleteClaimed(deps, { project, repository, claimed, signal })
  const deleted = claimed.filter(({ branch }) => outcomes.get(branch)?.kind === 'deleted')
  // Also those that were not claimed now: a server that died in a deletion left its marks.
  const kept = branches.filter((each) => !gone.includes(each) && !deleted.includes(each))
  for (const [refusal, those] of Map.groupBy(kept, ({ branch }) => refusalOf(outcomes.get(branch)))) {
    const isNew = await releaseBranches(deps.db, { projectId, branches: namesOf(those), refusal })
    if (isNew)
      deps.log.warn({ project_id: projectId, reason: refusal }, 'a repository refuses to delete merged branches')
  }
}

async function deleteClaimed(
  deps: DeleteMergedDeps,
  { project, repository, claimed, signal }: InRepository & { claimed: MergedBranch[]; signal: AbortSignal },
): Promise<Map<string, DeleteBranchOutcome>> {
  await failpoint('branches.after_claim')
  const commits = claimed.map(({ branch, cr }) => ({ branch, sha: cr.head_commit_sha! }))
  const outcomes = await deleteBranches(repository, commits, { signal })
  await failpoint('branches.after_refs')
  const deleted = claimed.filter(({ branch }) => outcomes.get(branch)?.kind === 'deleted')
  if (deleted.length > 0) {
    await recordDeleted(deps, { project, repository, deleted })
    deps.log.info({ project_id: project.project_id, branches: deleted.length }, 'deleted merged branches')
  }
  return outcomes
}

const namesOf = (branches: MergedBranch[]) => branches.map(({ branch }) => branch)

const refusalOf = (outcome: DeleteBranchOutcome | undefined) => (outcome?.kind === 'kept' ? outcome.reason : null)

/** Those whose tip is the head that was merged, and is in the base or the default branch as they are now. */
async function stillMerged(
  repository: Repository,
  { default_branch }: ProjectRow,
  { branches, signal }: { branches: MergedBranch[]; signal: AbortSignal },
): Promise<{ merged: MergedBranch[]; gone: MergedBranch[] }> {
  const names = new Set([default_branch, ...branches.flatMap(({ branch, cr }) => [branch, cr.base_ref])])
  const found = await readTips(repository, [...names], { signal })
  if (found.kind === 'unreachable') throw new Error(`The repository cannot be read: ${found.reason}`)
  const { tips, aliases, head } = found
  // Deleting one name of a branch that has several would delete the branch itself.
  const isAlias = new Set([...aliases.keys(), ...aliases.values()])
  const unmoved = branches.filter(
    ({ branch, cr }) => tips.get(branch) === cr.head_commit_sha && branch !== head && !isAlias.has(branch),
  )
  const gone = branches.filter(({ branch }) => !tips.has(branch))
  const basesOf = ({ cr }: MergedBranch) => [cr.base_ref, default_branch].flatMap((name) => tips.get(name) ?? [])
  const commits = new Set(unmoved.flatMap((each) => [...basesOf(each), each.cr.head_commit_sha!]))
  if (commits.size === 0) return { merged: [], gone }
  const fetched = await fetchForRequest(repository, [...commits], signal)
  if (fetched.kind !== 'present') throw new Error('The repository does not have all commits of its merged branches.')
  const merged: MergedBranch[] = []
  for (const each of unmoved)
    if (await isContained(repository, { sha: each.cr.head_commit_sha!, tips: basesOf(each) }, { signal }))
      merged.push(each)
  return { merged, gone }
}

/** From here on, nothing begins that needs one of them. */
function claim(deps: DeleteMergedDeps, projectId: string, merged: MergedBranch[]): Promise<MergedBranch[]> {
  return deps.db.transaction().execute(async (trx) => {
    const defaultBranch = await holdDefaultBranch(trx, projectId)
    const locked = await lockBranches(trx, { projectId, branches: namesOf(merged) })
    // Only now, since a change request that is being opened held them until here.
    const used = await branchesInUse(trx, { projectId, branches: locked })
    const branches = locked.filter((branch) => !used.has(branch) && branch !== defaultBranch)
    const claimed = new Set(await claimBranches(trx, { projectId, branches }))
    return merged.filter(({ branch }) => claimed.has(branch))
  })
}

interface InRepository {
  project: ProjectRow
  repository: Repository
}

/** Deletes the rows of the branches in the transaction that acknowledges their deletion. */
async function recordDeleted(
  deps: DeleteMergedDeps,
  { project, repository, deleted }: InRepository & { deleted: MergedBranch[] },
): Promise<void> {
  const { project_id: projectId, account_id } = project
  await acknowledgeGone(deps, { project, repository, branches: deleted }, async (trx) => {
    await forgetBranches(trx, { projectId, branches: namesOf(deleted) })
    for (const { branch, cr } of deleted) {
      const event = { account_id, project_id: projectId, action: 'branch.delete', object_type: 'branch' }
      const before = { head_sha: cr.head_commit_sha, change_request: cr.number }
      await recordServiceAudit(trx, { ...event, object_id: branch, before })
      await recordChangeRequestEvent(trx, 'change_request.updated', cr, null, { changed: ['head_branch'] })
    }
  })
}

/** Someone else deleted them, or a server did and died before it recorded that. */
async function recordGone(
  deps: DeleteMergedDeps,
  { project, repository, gone }: InRepository & { gone: MergedBranch[] },
): Promise<void> {
  const of = { projectId: project.project_id, branches: namesOf(gone) }
  await acknowledgeGone(deps, { project, repository, branches: gone }, (trx) => forgetBranches(trx, of))
}

async function acknowledgeGone(
  deps: DeleteMergedDeps,
  { project, repository, branches }: InRepository & { branches: MergedBranch[] },
  write: (trx: DbOrTransaction) => Promise<void>,
): Promise<void> {
  const inTransaction = (db: DbOrTransaction) => withinTransaction(db, write)
  if (repository.remote !== null) return writeAtHome(deps, project, inTransaction)
  const refs = branches.map(({ branch, cr }) => ({ ref: `refs/heads/${branch}`, old: cr.head_commit_sha }))
  return acknowledge(deps, { project, store: repository, refs }, inTransaction)
}
