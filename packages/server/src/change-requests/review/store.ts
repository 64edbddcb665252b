import type { Review } from '@svc/contract'
import type { DbOrTransaction, NewRow } from '../../db/schema.ts'
import { insertIfNew } from '../../db/rows.ts'

/** The first different head seen after a review counts as its answer. */
const reviews = (db: DbOrTransaction) =>
  db
    .selectFrom('change_request_reviews')
    .leftJoin('users', 'users.user_id', 'change_request_reviews.created_by')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('change_request_heads as head')
          .whereRef('head.cr_id', '=', 'change_request_reviews.cr_id')
          .whereRef('head.seen_at', '>', 'change_request_reviews.created_at')
          .whereRef('head.head_sha', '<>', 'change_request_reviews.head_sha')
          .orderBy('head.seen_at')
          .limit(1)
          .select(['head.head_sha as answer_sha', 'head.seen_at as answer_at'])
          .as('answer'),
      (join) => join.onTrue(),
    )
    .selectAll('change_request_reviews')
    .select(['users.name as created_by_name', 'answer_sha', 'answer_at'])

type Found = Awaited<ReturnType<ReturnType<typeof reviews>['executeTakeFirstOrThrow']>>

function present({ answer_sha, answer_at, ...review }: Found): Review {
  const answer = answer_sha === null || answer_at === null ? null : { head_sha: answer_sha, seen_at: answer_at }
  return { ...review, answer }
}

export async function reviewsOf(db: DbOrTransaction, crId: string): Promise<Review[]> {
  const rows = await reviews(db)
    .where('change_request_reviews.cr_id', '=', crId)
    .orderBy('change_request_reviews.created_at')
    .limit(1000)
    .execute()
  return rows.map(present)
}

export async function getReview(db: DbOrTransaction, reviewId: string): Promise<Review | undefined> {
  const row = await reviews(db).where('review_id', '=', reviewId).executeTakeFirst()
  return row && present(row)
}

/** False for a retry, which finds the row already written. */
export function insertReview(db: DbOrTransaction, row: NewRow<'change_request_reviews'>): Promise<boolean> {
  return insertIfNew(db, 'change_request_reviews', row, ['review_id'])
}
