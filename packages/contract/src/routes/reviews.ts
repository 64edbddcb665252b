/** Reviews: comments on lines of a change request, sent to its session as one prompt. */
import { z } from 'zod'
import { bytesAtMost, named, route, sha, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors, startErrors } from '../route-errors.ts'
import { changeRequest } from './change-requests.ts'

export const reviewCommentsMax = 200
const commentBytesMax = 16 * 1024
const bodyBytesMax = 64 * 1024
const messageBytesMax = 16 * 1024

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

const outcome = z.enum(['done', 'declined'])
export const threadStates = ['open', 'answered', 'resolved'] as const

const reviewReply = named('ReviewReply', {
  reply_id: uuid,
  text: z.string(),
  outcome: outcome.nullable().describe('Set when the reply answers the comment.'),
  commit: z.string().nullable().describe('The commit that did what the comment asks for.'),
  created_by: uuid.nullable(),
  created_by_name: z.string().nullable(),
  session_id: z.string().nullable().describe('The session whose agent wrote it; null for a person.'),
  created_at: timestamp,
})

const thread = {
  comment_id: uuid,
  state: z.enum(threadStates).describe('`answered`: done or declined. Only people resolve.'),
  answer: z
    .object({ outcome, commit: z.string().nullable(), answered_at: timestamp })
    .nullable()
    .describe('The answer that counts. A reply that is sent to the session asks again.'),
  replies: z.array(reviewReply),
  resolved_at: timestamp.nullable(),
  resolved_by_name: z.string().nullable(),
}

const place = { path: z.string(), line: z.number().int(), start_line: z.number().int().nullable() }

const reviewThread = named('ReviewThread', {
  ...reviewComment.shape,
  ...thread,
  outdated: z.boolean().describe('Whether its lines changed since the review.'),
  current: z.object(place).nullable().describe('Where its lines are in the current head; null when they changed.'),
  suggestion: z
    .object({
      lines: z.array(z.string()).describe('They replace the commented lines. None deletes these.'),
      refusal: z.string().nullable().describe('Why it cannot be applied, or null.'),
    })
    .nullable()
    .optional()
    .describe('The first `suggestion` block of `text`.'),
})
export type ReviewThread = z.infer<typeof reviewThread>

const reviewTextThread = named('ReviewTextThread', thread)
export type ReviewTextThread = z.infer<typeof reviewTextThread>

export const review = named('Review', {
  review_id: uuid,
  cr_id: uuid,
  head_sha: z.string().describe('The head that the reviewer read.'),
  body: z.string(),
  comments: z.array(reviewThread),
  thread: reviewTextThread.nullable().optional().describe('The thread of the text of a review without comments.'),
  created_by: uuid.nullable(),
  created_by_name: z.string().nullable(),
  session_id: z.string().nullable().describe('The session that got the review; null when the review was only stored.'),
  created_at: timestamp,
  answer: z
    .object({ head_sha: z.string(), seen_at: timestamp })
    .nullable()
    .describe(
      'The head that answers the review and when the service saw it: once every comment is answered, or once a commit on the branch names the review in a `Review:` trailer.',
    ),
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
      draft_ids: z.array(uuid).max(reviewCommentsMax).optional().describe('Your drafts that the review replaces.'),
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

const comment = `${base}/comments/:commentId` as const
const text = z.string().trim().refine(bytesAtMost(commentBytesMax), 'is larger than 16 KiB')

export const answerCommentRoute = route.post('project-write', `${comment}/answer`, {
  name: 'answerComment',
  summary: 'Answer a comment of a review',
  description:
    'For the author of the change: `done` with the commit that did it, which is the head of the branch unless given, or `declined` with the reason as `text`. The token of a session answers only the comments of its own branch.',
  errors: [...repositoryErrors, 'unprocessable', 'ref_missing'],
  effect: 'adds',
  body: z
    .object({
      outcome,
      commit: sha.optional().describe('A commit of the head branch. Only with `done`.'),
      text: text.default(''),
    })
    .refine(({ outcome, text }) => outcome === 'done' || text !== '', {
      path: ['text'],
      message: 'has to give the reason',
    })
    .refine(({ outcome, commit }) => outcome === 'done' || commit === undefined, {
      path: ['commit'],
      message: 'is only for `done`',
    }),
  idempotent: true,
  example: { body: { outcome: 'declined', text: 'The port is already configurable.' } },
  reply: review,
})

export const replyToCommentRoute = route.post('project-write', `${comment}/replies`, {
  name: 'replyToComment',
  summary: 'Reply to a comment of a review',
  description:
    "With `send`, the session gets the reply as a prompt and has to answer the comment again. The token of a session replies only on its own branch, and can't send.",
  errors: [...startErrors, 'runtime_booting', ...repositoryErrors, 'unprocessable', 'ref_missing'],
  effect: 'adds',
  body: z.object({
    text: text.min(1, 'is empty'),
    send: z.boolean().default(false).describe('Whether the session gets the reply as a prompt.'),
  }),
  status: 201,
  idempotent: true,
  example: { body: { text: 'On every interface?' } },
  reply: review,
})

export const resolveCommentRoute = route.patch('project-write', comment, {
  name: 'resolveComment',
  summary: 'Resolve or reopen a comment of a review',
  description: 'Only people resolve comments. Resolving a resolved one changes nothing.',
  effect: 'adds',
  body: z.object({ resolved: z.boolean() }),
  example: { body: { resolved: true } },
  reply: review,
})

export const suggestionsAtOnceMax = 100

export const applySuggestionsRoute = route.post(
  'project-write',
  '/v1/projects/:projectId/change-requests/:crId/suggestions/apply',
  {
    name: 'applySuggestions',
    summary: 'Apply suggestions of reviews',
    description:
      'Commits the `suggestion` blocks of these comments to the head branch, in one commit by the caller, and resolves the comments. All or none: a suggestion whose lines changed is refused. Only people apply suggestions.',
    errors: [
      ...repositoryErrors,
      ...(['head_moved', 'not_open', 'ref_missing', 'merge_rejected', 'branch_protected'] as const),
      ...(['unprocessable', 'quota_exceeded'] as const),
    ],
    effect: 'adds',
    body: z.object({
      comment_ids: z.array(uuid).min(1).max(suggestionsAtOnceMax),
      expected_head_sha: sha.describe('The head that you saw.'),
      message: z
        .string()
        .trim()
        .refine(bytesAtMost(messageBytesMax), 'is larger than 16 KiB')
        .optional()
        .describe('The message of the commit; empty for the default.'),
    }),
    status: 201,
    idempotent: true,
    example: {
      body: {
        comment_ids: ['5f0c3a52-7c4e-8d1b-8a9e-0d2f6b1c4e77'],
        expected_head_sha: '9fceb02d0ae598e95dc970b74767f19372d61af8',
      },
    },
    reply: named('AppliedSuggestions', {
      commit: z.string(),
      change_request: changeRequest,
      reviews: z.array(review).describe('The reviews of these comments.'),
    }),
  },
)
