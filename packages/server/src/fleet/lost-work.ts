/** Which sessions have saved work that the copy of their project lacks. */
import { incompleteCommits } from '@svc/git'
import type { DbOrTransaction } from '../db/schema.ts'
import { newestWork, type WipRow } from '../sessions/unfinished-work/store.ts'
import { isWhole, type Judged } from './judge-copy.ts'

export async function lostWork(
  db: DbOrTransaction,
  { projectId, copy }: { projectId: string; copy: Judged | null },
): Promise<WipRow[]> {
  if (copy !== null && isWhole(copy)) return []
  const saved = await newestWork(db, projectId)
  if (copy === null) return saved
  const gone = new Set(await incompleteCommits(copy.dir, [...new Set(saved.map(({ commit_sha }) => commit_sha))]))
  return saved.filter(
    ({ session_id, commit_sha }) => gone.has(commit_sha) || !copy.refs.has(`refs/svc/wip/${session_id}`),
  )
}
