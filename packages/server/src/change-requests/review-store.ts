/** All SQL on reviews. */
import type { Review } from '@svc/contract'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'

const withName = (db: DbOrTransaction) =>
  db
    .selectFrom('change_request_reviews')
    .leftJoin('users', 'users.user_id', 'change_request_reviews.created_by')
    .selectAll('change_request_reviews')
    .select('users.name as created_by_name')

/** Oldest first. */
export async function reviewsOf(db: DbOrTransaction, crId: string): Promise<Review[]> {
  return withName(db).where('cr_id', '=', crId).orderBy('change_request_reviews.created_at').limit(1000).execute()
}

export async function getReview(db: DbOrTransaction, reviewId: string): Promise<Review | undefined> {
  return withName(db).where('review_id', '=', reviewId).executeTakeFirst()
}

/** Whether it is a new one: a retry finds it written already. */
export async function insertReview(db: DbOrTransaction, row: NewRow<'change_request_reviews'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('change_request_reviews')
    .values(row)
    .onConflict((conflict) => conflict.column('review_id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}
