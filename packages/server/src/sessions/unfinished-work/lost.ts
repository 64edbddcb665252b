/**
 * Saved work whose objects are gone: its repository came back from an older backup, or its mirror was fetched anew. It no
 * longer counts as saved, so that the session goes on without it. Objects that an operator brings back count again.
 */
import { existsSync } from 'node:fs'
import { ServiceError } from '@svc/contract'
import { lostObjects, missingObjects, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { allWorkOf, recordFoundWork, recordLostWork, type WipRow } from './store.ts'

/** Both newest generation first. */
export interface Judged {
  saved: WipRow[]
  lost: WipRow[]
}

export async function judgeWork(store: Repository, rows: WipRow[], missing = missingObjects): Promise<Judged> {
  const commits = [...new Set(rows.map(({ commit_sha }) => commit_sha))]
  const gone = new Set(commits.length > 0 && existsSync(store.dir) ? await missing(store, commits) : commits)
  const isLost = ({ commit_sha }: WipRow) => gone.has(commit_sha)
  return { saved: rows.filter((row) => !isLost(row)), lost: rows.filter(isLost) }
}

/**
 * Records which saved work is lost, and which is there again. `isNew` is what was not known as lost. Until this start has
 * saved, git looks into the store itself, from which files may have been removed.
 */
export async function recordJudged(
  deps: Pick<Deps, 'db' | 'log'>,
  { store, sessionId, generation }: { store: Repository; sessionId: string; generation: number },
): Promise<Judged & { isNew: WipRow[] }> {
  const rows = await allWorkOf(deps.db, sessionId)
  const hasSaved = rows.some((row) => row.generation === generation)
  const judged = await judgeWork(store, rows, hasSaved ? missingObjects : lostObjects)
  const isNew = judged.lost.filter(({ lost_at }) => lost_at === null)
  await recordLostWork(deps.db, isNew)
  await recordFoundWork(
    deps.db,
    judged.saved.filter(({ lost_at }) => lost_at !== null),
  )
  for (const { session_id, commit_sha, saved_at } of isNew)
    deps.log.warn({ session_id, commit: commit_sha, saved_at }, 'saved work is lost: its repository does not have it')
  return { ...judged, isNew }
}

export const lostMessage = ({ saved_at }: Pick<WipRow, 'saved_at'>) =>
  `The work saved at ${saved_at} is lost: the repository of the project does not have it.`

export function lostError(row: WipRow): ServiceError {
  return new ServiceError('not_found', lostMessage(row), {
    hint: 'The operator may have it in a backup; see "Check" on the page "Backup and restore" of the docs.',
  })
}
