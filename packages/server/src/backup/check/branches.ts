/** Branches and commits that rows of a managed project need, and that its repository has lost. */
import { listAllRefs, missingObjects } from '@svc/git'
import type { Checked, Found } from './repository.ts'
import { lastSeenDefault, openChangeRequests } from './store.ts'

const headsPrefix = 'refs/heads/'

/** A branch that nothing needs may have been deleted on purpose. */
export async function lostBranches(checked: Checked): Promise<Found[]> {
  const { db, project, repo } = checked
  const { project_id, slug, default_branch } = project
  const heads = await listAllRefs(repo.dir, headsPrefix)
  const tips = new Map(heads.map(({ ref, sha }) => [ref.slice(headsPrefix.length), sha]))
  /** Why each missing branch is needed. */
  const needed = new Map<string, string[]>()
  const need = (branch: string, why: string) => {
    if (!tips.has(branch)) needed.set(branch, [...(needed.get(branch) ?? []), why])
  }
  const seen = tips.has(default_branch) ? null : await lastSeenDefault(db, project)
  if (seen !== null) need(default_branch, `It is the default branch, last seen at ${seen}.`)
  const open = await openChangeRequests(db, project_id)
  for (const { number, base_ref, head_ref } of open)
    for (const branch of [base_ref, head_ref]) need(branch, `The open #${number} needs it.`)
  const branches = [...needed].map(([branch, whys]) => ({
    kind: 'missing_branch',
    says: `${slug}: the branch ${branch} is missing. ${whys.join(' ')}`,
  }))
  const shas = open.flatMap(({ head_commit_sha }) => head_commit_sha ?? [])
  const gone = new Set(shas.length === 0 ? [] : await missingObjects(repo, [...new Set(shas)]))
  const commits = open.flatMap(({ number, head_ref, head_commit_sha: sha }) => {
    // Someone who rewrites a branch leaves commits behind.
    if (sha === null || !gone.has(sha) || (tips.get(head_ref) ?? sha) !== sha) return []
    const says = `${slug}: change request #${number} is open, and its repository does not have its head commit ${sha}.`
    return [{ kind: 'lost_head', says }]
  })
  return [...branches, ...commits]
}
