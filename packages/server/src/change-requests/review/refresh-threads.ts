/** Finds the comments of reviews again in a new head, and the commits that name a review. */
import { ServiceError } from '@svc/contract'
import { GitError, hasObjects, listCommits, moveLines, type Repository } from '@svc/git'
import type { ProjectRow } from '../../projects/store.ts'
import { withinTime } from '../../projects/within-limits.ts'
import { commitPair, type PairDeps } from '../preview/commit-pair.ts'
import type { ChangeRequestRow } from '../store.ts'
import { shortId } from './comment-id.ts'
import { type Checked, recordChecked, type UncheckedReview, uncheckedReviews } from './store.ts'

/** Each takes two commands of git; the rest follows with the next request. */
const reviewsAtOnce = 20
const commitsMax = 200

interface Refresh {
  project: ProjectRow
  cr: ChangeRequestRow
  signal: AbortSignal
}

/**
 * Deliberately silent. Reviews stay readable while the repository is unreachable: their comments then stand where they
 * were found last, and the next request tries again.
 */
export async function refreshThreadsIfReachable(deps: PairDeps, input: Refresh): Promise<void> {
  try {
    await withinTime(input.signal, (signal) => refreshThreads(deps, { ...input, signal }))
  } catch (error) {
    const isAway = error instanceof ServiceError || error instanceof GitError
    deps.log[isAway ? 'debug' : 'warn']({ cr_id: input.cr.cr_id, err: error }, 'comments were not looked up')
  }
}

async function refreshThreads(deps: PairDeps, input: Refresh): Promise<void> {
  const { cr, signal } = input
  if (cr.head_commit_sha === null) return
  const of = { crId: cr.cr_id, headSha: cr.head_commit_sha, limit: reviewsAtOnce }
  const unchecked = await uncheckedReviews(deps.db, of)
  if (unchecked.length === 0) return
  const { repository, headSha } = await commitPair(deps, input)
  const checked: Checked[] = []
  for (const review of unchecked) checked.push(await check(repository, review, { headSha, at: deps.now(), signal }))
  await recordChecked(deps.db, headSha, checked)
}

async function check(
  repository: Repository,
  review: UncheckedReview,
  { headSha, at, signal }: { headSha: string; at: Date; signal: AbortSignal },
): Promise<Checked> {
  const { review_id, head_sha: fromSha, comments } = review
  const lines = comments.map(({ path, line, start_line }) => ({ path, first: start_line ?? line, last: line }))
  const isThere = await hasObjects(repository, [fromSha])
  const moved = isThere
    ? await moveLines(repository, { fromSha, toSha: headSha }, lines, { signal })
    : lines.map(() => null)
  const places = review.threads.flatMap(({ comment_id, position }): Checked['places'] => {
    const written = comments[position]
    if (written === undefined) return []
    // The push leaves the merge base as it is, which the lines of the old side belong to.
    const found = written.side === 'old' ? lines[position] : moved[position]
    if (!found)
      return [{ comment_id, outdated: true, current_path: null, current_line: null, current_start_line: null }]
    const start = written.start_line === null ? null : found.first
    const place = { current_path: found.path, current_line: found.last, current_start_line: start }
    return [{ comment_id, outdated: false, ...place }]
  })
  return { review_id, places, related: isThere ? await relatedTo(repository, review, { headSha, at, signal }) : null }
}

/** The newest commit since the review with a trailer such as `Review: 1f3a2b9c`. */
async function relatedTo(
  repository: Repository,
  { review_id, head_sha: notIn }: UncheckedReview,
  { headSha, at, signal }: { headSha: string; at: Date; signal: AbortSignal },
): Promise<Checked['related']> {
  const commits = await listCommits(repository, { sha: headSha, notIn, limit: commitsMax }, { signal })
  const named = commits.find(({ body }) =>
    body.split('\n').some((line) => {
      const id = /^Review: *([0-9a-f-]{8,36})\s*$/i.exec(line)?.[1]?.toLowerCase()
      return id !== undefined && (id === review_id || id === shortId(review_id))
    }),
  )
  return named === undefined ? null : { sha: headSha, at }
}
