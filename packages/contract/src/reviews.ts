/** Reviews: remarks on lines of a change request, gathered and sent to its session as one prompt. */
import { z } from 'zod'
import { bytesAtMost, pageOfWhole, route, sha, timestamp, uuid } from './route.ts'

export const reviewCommentsMax = 200
const commentBytesMax = 16 * 1024
const bodyBytesMax = 64 * 1024

export const reviewComment = z.object({
  path: z.string().min(1).max(4096),
  /** Whether `line` counts the file before or after the change. */
  side: z.enum(['old', 'new']),
  line: z.number().int().min(1).max(10_000_000),
  /** First line of a range that ends with `line`. */
  start_line: z.number().int().min(1).max(10_000_000).nullable().default(null),
  /** The lines as the reviewer saw them, for whoever reads this after they changed. */
  quote: z.string().max(4096).default(''),
  text: z.string().trim().min(1, 'is empty').refine(bytesAtMost(commentBytesMax), 'is larger than 16 KiB'),
})
export type ReviewComment = z.infer<typeof reviewComment>

export const review = z.object({
  review_id: uuid,
  cr_id: uuid,
  /** The head the reviewer looked at. */
  head_sha: z.string(),
  body: z.string(),
  comments: z.array(reviewComment),
  created_by: uuid.nullable(),
  created_by_name: z.string().nullable(),
  /** The session it was sent to; null when it was only kept. */
  session_id: z.string().nullable(),
  created_at: timestamp,
  /** The first head the branch had after it, and when the service saw it. */
  answer: z.object({ head_sha: z.string(), seen_at: timestamp }).nullable(),
})
export type Review = z.infer<typeof review>

const base = '/v1/projects/:projectId/change-requests/:crId/reviews'

export const listReviewsRoute = route({
  name: 'listReviews',
  summary: 'The reviews of a change request, oldest first',
  method: 'GET',
  path: base,
  access: 'project-write',
  query: pageOfWhole,
  pages: { list: 'reviews', by: 'review_id' },
  reply: z.object({ reviews: z.array(review) }),
})

export const createReviewRoute = route({
  name: 'createReview',
  summary: 'Review a change request: kept with it, and sent to its session as one prompt, which wakes it',
  method: 'POST',
  path: base,
  access: 'project-write',
  effect: 'adds',
  body: z
    .object({
      head_sha: sha,
      body: z.string().trim().refine(bytesAtMost(bodyBytesMax), 'is larger than 64 KiB').default(''),
      comments: z.array(reviewComment).max(reviewCommentsMax).default([]),
      /** False keeps the review without telling the session. */
      send: z.boolean().default(true),
    })
    .refine(({ body, comments }) => body !== '' || comments.length > 0, 'says nothing: give a body or a comment'),
  status: 201,
  idempotent: true,
  reply: review,
})
