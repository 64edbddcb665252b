/** Which merges the copy of a project lacks. Their change requests stay merged, so a take-over names each of them. */
import type { LostMerge } from '@svc/contract'
import { incompleteCommits, missingObjects, notContained } from '@svc/git'
import { mergedOf, type MergedRow } from '../change-requests/merge/lost-store.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { changesAfter } from '../projects/replicas/store.ts'
import type { ProjectRow } from '../projects/store.ts'
import { isWhole, type Judged } from './judge-copy.ts'

/** The merges of an external project are on its host. */
export async function lostMerges(
  db: DbOrTransaction,
  { project, copy }: { project: ProjectRow; copy: Judged | null },
): Promise<LostMerge[]> {
  if (!project.managed || copy === null || isWhole(copy)) return []
  const lost = new Set<MergedRow>()
  const merged = await mergedOf(db, project.project_id)
  const changes = await changesAfter(db, { projectId: project.project_id, after: 0, upTo: copy.seq })
  for (const [base, rows] of Map.groupBy(merged, ({ base_ref }) => base_ref)) {
    const ref = `refs/heads/${base}`
    const tip = copy.refs.get(ref)
    const isBehind = copy.missing.some((one) => one.ref === ref)
    // A branch that was deleted before lacks nothing.
    if (!isBehind && (!copy.isStale || tip === undefined)) continue
    const values = changes.flatMap((change) => (change.ref === ref ? [change.new_sha] : []))
    const later = new Set(values.slice(tip === undefined ? 0 : values.lastIndexOf(tip) + 1))
    const outside = await outsideOf(copy.dir, shasOf(rows.filter((row) => later.has(row.merge_commit_sha))), tip)
    // The log of a copy that is damaged, or older than the log, does not have all that is gone.
    const gone = copy.isStale || tip === undefined ? await missingIn(copy.dir, shasOf(rows)) : []
    const all = new Set([...outside, ...gone])
    for (const row of rows) if (all.has(row.merge_commit_sha)) lost.add(row)
  }
  return [...lost]
    .toSorted((a, b) => a.number - b.number)
    .map(({ cr_id, number, title, base_ref, head_ref }) => ({ cr_id, number, title, base_ref, head_ref }))
}

const shasOf = (rows: MergedRow[]) => [...new Set(rows.map((row) => row.merge_commit_sha))]

/** Commits that this tip does not contain, or that the copy does not have as a whole. */
async function outsideOf(dir: string, shas: string[], tip: string | undefined): Promise<string[]> {
  if (tip === undefined) return shas
  const broken = new Set(await incompleteCommits(dir, shas))
  const whole = shas.filter((sha) => !broken.has(sha))
  return [...broken, ...(await notContained(dir, whole, tip))]
}

function missingIn(dir: string, shas: string[]): Promise<string[]> {
  return shas.length === 0 ? Promise.resolve([]) : missingObjects({ dir, remote: null }, shas)
}
