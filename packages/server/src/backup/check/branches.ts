/** Branches and commits that rows of a managed project need, and that its repository has lost. */
import { listAllRefs, missingObjects, notContained } from '@svc/git'
import type { Checked, Found } from './repository.ts'
import { lastSeenDefault, type MergedCommit, mergedCommits, openChangeRequests } from './store.ts'

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
  for (const [base, merged] of await mergedIntoMissing(checked, tips)) {
    const numbers = merged.map(({ number }) => `#${number}`).join(', ')
    const [verb, what] = merged.length === 1 ? ['is', 'the merge'] : ['are', 'these merges']
    need(base, `${numbers} ${verb} merged into it, and no branch contains ${what}.`)
  }
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

/** Merges whose branch is gone and that no other branch contains, by that branch. */
async function mergedIntoMissing(
  { db, project, repo }: Checked,
  tips: Map<string, string>,
): Promise<Map<string, MergedCommit[]>> {
  const merged = (await mergedCommits(db, project.project_id)).filter(({ base }) => !tips.has(base))
  if (merged.length === 0) return new Map()
  const shas = [...new Set(merged.map(({ sha }) => sha))]
  const gone = new Set(await missingObjects(repo, shas))
  const here = shas.filter((sha) => !gone.has(sha))
  const outside = new Set(await notContained(repo.dir, here, [...tips.values()]))
  return Map.groupBy(
    merged.filter(({ sha }) => outside.has(sha)),
    ({ base }) => base,
  )
}
