/** What people and agents write below a comment, and its state. */
import { notFound, isUuid } from '../../auth/allow.ts'
import { findRow, insertIfNew, listRows, updateRow, updateRows } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

/** The comment, its review, and what the reviewer wrote; null is a review that has only a text. */
export async function requireComment(db: DbOrTransaction, crId: string, commentId: string) {
  const comment = isUuid(commentId)
    ? await findRow(db, 'review_comments', { cr_id: crId, comment_id: commentId })
    : null
  const review = comment && (await findRow(db, 'change_request_reviews', { review_id: comment.review_id }))
  if (comment === null || review === null) throw notFound('comment')
  return { comment, review, written: review.comments[comment.position] ?? null }
}

/** False for a retry. */
export function insertReply(db: DbOrTransaction, row: NewRow<'review_replies'>): Promise<boolean> {
  return insertIfNew(db, 'review_replies', row, ['reply_id'])
}

/** The commit that a reply names, if there is such a reply. */
export async function commitOfReply(db: DbOrTransaction, replyId: string): Promise<string | null> {
  return (await findRow(db, 'review_replies', { reply_id: replyId }))?.commit_sha ?? null
}

/** The reviews of these comments, each once. */
export async function reviewIdsOf(db: DbOrTransaction, crId: string, commentIds: readonly string[]): Promise<string[]> {
  const rows = await listRows(db, 'review_comments', { cr_id: crId, comment_id: [...commentIds] })
  return [...new Set(rows.map(({ review_id }) => review_id))]
}

export async function recordAnswer(
  db: DbOrTransaction,
  commentId: string,
  answer: Pick<Row<'review_comments'>, 'outcome' | 'commit_sha' | 'answered_head_sha'> & { at: Date },
): Promise<void> {
  const { at, ...set } = answer
  await updateRows(db, 'review_comments', { comment_id: commentId }, { ...set, answered_at: at })
}

/** It has to be answered again. */
export async function reopenComment(db: DbOrTransaction, commentId: string): Promise<void> {
  const open = { outcome: null, commit_sha: null, answered_head_sha: null, answered_at: null }
  await updateRows(db, 'review_comments', { comment_id: commentId }, { ...open, resolved_at: null, resolved_by: null })
}

/** Null when it was resolved already. */
export function resolve(db: DbOrTransaction, commentId: string, by: { userId: string; at: Date }) {
  const set = { resolved_at: by.at, resolved_by: by.userId }
  return updateRow(db, 'review_comments', { comment_id: commentId, resolved_at: null }, set)
}

/** False when it was not resolved. */
export async function unresolve(db: DbOrTransaction, commentId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('review_comments')
    .set({ resolved_at: null, resolved_by: null })
    .where('comment_id', '=', commentId)
    .where('resolved_at', 'is not', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
