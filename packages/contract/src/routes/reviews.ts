/** Reviews: comments on lines of a change request, sent to its session as one prompt. */
import { z } from 'zod'
import { bytesAtMost, named, route, sha, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors, startErrors } from '../route-errors.ts'

export const reviewCommentsMax = 200
const commentBytesMax = 16 * 1024
const bodyBytesMax = 64 * 1024

export const reviewComment = named('ReviewComment', {
  path: z.string().min(1).max(4096),
  side: z.enum(['old', 'new']).describe('Whether `line` counts in the file before or after the change.'),
  line: z.number().int().min(1).max(10_000_000),
  start_line: z
    .number()
    .int()
    .min(1)
    .max(10_000_000)
    .nullable()
    .default(null)
    .describe('The first line of a range that ends with `line`.'),
  quote: z.string().max(4096).default('').describe('The lines as the reviewer saw them.'),
  text: z.string().trim().min(1, 'is empty').refine(bytesAtMost(commentBytesMax), 'is larger than 16 KiB'),
})
export type ReviewComment = z.infer<typeof reviewComment>

export const review = named('Review', {
  review_id: uuid,
  cr_id: uuid,
  head_sha: z.string().describe('The head that the reviewer read.'),
  body: z.string(),
  comments: z.array(reviewComment),
  created_by: uuid.nullable(),
  created_by_name: z.string().nullable(),
  session_id: z.string().nullable().describe('The session that got the review; null when the review was only stored.'),
  created_at: timestamp,
  answer: z
    .object({ head_sha: z.string(), seen_at: timestamp })
    .nullable()
    .describe('The first head of the branch after the review, and when the service saw it.'),
})
export type Review = z.infer<typeof review>

const base = '/v1/projects/:projectId/change-requests/:crId/reviews'

export const listReviewsRoute = route.get('project-write', base, {
  name: 'listReviews',
  summary: 'List the reviews of a change request',
  description: 'Oldest first.',
  ...wholeList('reviews', 'review_id'),
  reply: z.object({ reviews: z.array(review) }),
})

export const createReviewRoute = route.post('project-write', base, {
  name: 'createReview',
  summary: 'Review a change request',
  description:
    'Stores the review and sends it to the session as one prompt, which starts a stopped session. `send: false` only stores it.',
  errors: [
    'not_open',
    'head_moved',
    ...startErrors,
    'runtime_booting',
    ...repositoryErrors,
    'unprocessable',
    'ref_missing',
  ],
  effect: 'adds',
  body: z
    .object({
      head_sha: sha,
      body: z.string().trim().refine(bytesAtMost(bodyBytesMax), 'is larger than 64 KiB').default(''),
      comments: z.array(reviewComment).max(reviewCommentsMax).default([]),
      send: z.boolean().default(true).describe('Whether the session gets the review as a prompt.'),
    })
    .refine(({ body, comments }) => body !== '' || comments.length > 0, 'says nothing: give a body or a comment'),
  status: 201,
  idempotent: true,
  example: {
    body: {
      head_sha: '9fceb02d0ae598e95dc970b74767f19372d61af8',
      body: 'Please add a test.',
      comments: [{ path: 'README.md', side: 'new', line: 1, text: 'Name the port here.' }],
      send: false,
    },
  },
  reply: review,
})
