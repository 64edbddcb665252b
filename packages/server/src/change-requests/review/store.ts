import type { Review, ReviewComment, ReviewTextThread, ReviewThread } from '@svc/contract'
import { insertIfNew, listRows } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { presentSuggestion } from './suggestions.ts'

const reviews = (db: DbOrTransaction) =>
  db
    .selectFrom('change_request_reviews')
    .leftJoin('users', 'users.user_id', 'change_request_reviews.created_by')
    .selectAll('change_request_reviews')
    .select('users.name as created_by_name')

type ReviewRow = Awaited<ReturnType<ReturnType<typeof reviews>['executeTakeFirstOrThrow']>>
type Comment = Awaited<ReturnType<typeof commentsOf>>[number]
type Reply = Awaited<ReturnType<typeof repliesOf>>[number]

/** Oldest first. */
export async function reviewsOf(db: DbOrTransaction, crId: string): Promise<Review[]> {
  const rows = await reviews(db)
    .where('change_request_reviews.cr_id', '=', crId)
    .orderBy('change_request_reviews.created_at')
    .limit(1000)
    .execute()
  return withThreads(db, rows)
}

export async function getReview(db: DbOrTransaction, reviewId: string): Promise<Review | undefined> {
  const row = await reviews(db).where('review_id', '=', reviewId).executeTakeFirst()
  return row && (await withThreads(db, [row]))[0]
}

async function withThreads(db: DbOrTransaction, rows: ReviewRow[]): Promise<Review[]> {
  if (rows.length === 0) return []
  const comments = await commentsOf(
    db,
    rows.map(({ review_id }) => review_id),
  )
  const replies = Map.groupBy(
    await repliesOf(
      db,
      comments.map(({ comment_id }) => comment_id),
    ),
    ({ comment_id }) => comment_id,
  )
  const ofReview = Map.groupBy(comments, ({ review_id }) => review_id)
  return rows.map((row) => present(row, ofReview.get(row.review_id) ?? [], replies))
}

function commentsOf(db: DbOrTransaction, reviewIds: string[]) {
  return db
    .selectFrom('review_comments')
    .leftJoin('users', 'users.user_id', 'review_comments.resolved_by')
    .selectAll('review_comments')
    .select('users.name as resolved_by_name')
    .where('review_id', 'in', reviewIds)
    .orderBy('position')
    .execute()
}

async function repliesOf(db: DbOrTransaction, commentIds: string[]) {
  if (commentIds.length === 0) return []
  return db
    .selectFrom('review_replies')
    .leftJoin('users', 'users.user_id', 'review_replies.created_by')
    .selectAll('review_replies')
    .select('users.name as created_by_name')
    .where('comment_id', 'in', commentIds)
    .orderBy('review_replies.created_at')
    .execute()
}

function present(row: ReviewRow, comments: Comment[], replies: Map<string, Reply[]>): Review {
  const { checked_sha, ...review } = row
  const threadOf = (comment: Comment) => thread(comment, replies.get(comment.comment_id) ?? [])
  return {
    ...review,
    comments: comments.flatMap((comment): ReviewThread[] => {
      const written = row.comments[comment.position]
      if (written === undefined) return []
      const { outdated } = comment
      const suggestion = presentSuggestion(written, { outdated, resolved: comment.resolved_at !== null })
      const current = currentPlace(written, comment, checked_sha)
      return [{ ...written, ...threadOf(comment), outdated, current, suggestion }]
    }),
    thread: row.comments.length === 0 && comments[0] !== undefined ? threadOf(comments[0]) : null,
    answer: answerOf(row, comments),
  }
}

function thread(comment: Comment, replies: Reply[]): ReviewTextThread {
  const { comment_id, outcome, commit_sha, answered_at, resolved_at, resolved_by_name } = comment
  return {
    comment_id,
    state: resolved_at !== null ? 'resolved' : outcome !== null ? 'answered' : 'open',
    answer: outcome === null || answered_at === null ? null : { outcome, commit: commit_sha, answered_at },
    replies: replies.map(({ commit_sha: commit, ...reply }) => ({ ...reply, commit })),
    resolved_at,
    resolved_by_name,
  }
}

/** Lines of the old side belong to the merge base, which a push leaves as it is. */
function currentPlace(written: ReviewComment, comment: Comment, checkedSha: string | null): ReviewThread['current'] {
  if (comment.outdated) return null
  const { path, line, start_line } = written
  if (checkedSha === null || comment.current_path === null) return { path, line, start_line }
  return { path: comment.current_path, line: comment.current_line ?? line, start_line: comment.current_start_line }
}

/** A later push answers nothing by itself: the comments are answered one by one, or a commit names the review. */
function answerOf(row: ReviewRow, comments: Comment[]): Review['answer'] {
  if (row.related_sha !== null && row.related_at !== null) return { head_sha: row.related_sha, seen_at: row.related_at }
  const answers = comments.map(({ answered_head_sha: head_sha, answered_at: seen_at, outcome }) =>
    outcome === null || head_sha === null || seen_at === null ? null : { head_sha, seen_at },
  )
  const [first, ...others] = answers
  if (first === undefined || answers.includes(null)) return null
  return others.reduce((last, each) => (each!.seen_at > last!.seen_at ? each : last), first)
}

/** False for a retry, which finds the row already written. The database adds the rows of its comments. */
export function insertReview(
  db: DbOrTransaction,
  row: Omit<NewRow<'change_request_reviews'>, 'checked_sha' | 'related_sha' | 'related_at'>,
): Promise<boolean> {
  return insertIfNew(db, 'change_request_reviews', row, ['review_id'])
}

/** The newest reviews whose comments were not looked up in this head. */
export async function uncheckedReviews(
  db: DbOrTransaction,
  { crId, headSha, limit }: { crId: string; headSha: string; limit: number },
) {
  const rows = await db
    .selectFrom('change_request_reviews')
    .selectAll()
    .where('cr_id', '=', crId)
    .where('checked_sha', 'is distinct from', headSha)
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute()
  if (rows.length === 0) return []
  const ids = rows.map(({ review_id }) => review_id)
  const comments = Map.groupBy(
    await listRows(db, 'review_comments', { review_id: ids }, 'position'),
    ({ review_id }) => review_id,
  )
  return rows.map((row) => ({ ...row, threads: comments.get(row.review_id) ?? [] }))
}

export type UncheckedReview = Awaited<ReturnType<typeof uncheckedReviews>>[number]

export interface Checked {
  review_id: string
  /** Null leaves an earlier relation as it is. */
  related: { sha: string; at: Date } | null
  places: Pick<
    Row<'review_comments'>,
    'comment_id' | 'outdated' | 'current_path' | 'current_line' | 'current_start_line'
  >[]
}

export async function recordChecked(db: DbOrTransaction, headSha: string, checked: Checked[]): Promise<void> {
  for (const { review_id, related, places } of checked) {
    await db
      .updateTable('change_request_reviews')
      .set({ checked_sha: headSha, ...(related && { related_sha: related.sha, related_at: related.at }) })
      .where('review_id', '=', review_id)
      .execute()
    for (const { comment_id, ...place } of places)
      await db.updateTable('review_comments').set(place).where('comment_id', '=', comment_id).execute()
  }
}
