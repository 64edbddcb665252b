/** Viewed files, drafts and the order of files of one person, the same in every browser, and the versions they compare. */
import { z } from 'zod'
import { named, route, sha, timestamp, uuid, wholeList } from '../route.ts'
import { reviewComment, reviewCommentsMax } from './reviews.ts'

export const viewedFilesMax = 5000

/** A draft has no text while it is being written. */
const draftComment = named('DraftComment', {
  ...reviewComment.shape,
  text: z.string().max(16 * 1024),
})

export const fileOrders = ['folders', 'guided'] as const
export type FileOrder = (typeof fileOrders)[number]

const visit = z.object({ head_sha: z.string(), visited_at: timestamp })

const reviewState = named('ReviewState', {
  viewed: z.record(z.string(), z.string()).describe('The version of each viewed file, as the page names it, by path.'),
  drafts: z.array(draftComment.extend({ draft_id: uuid })).describe('Oldest first.'),
  visit: visit.nullable().describe('The head that you saw last.'),
  earlier_visit: visit.nullable().describe('The head that you saw before that one.'),
  file_order: z
    .enum(fileOrders)
    .nullable()
    .describe('How you read the files of every change request; null until you choose.'),
})
export type ReviewState = z.infer<typeof reviewState>

const base = '/v1/projects/:projectId/change-requests/:crId'

export const getReviewStateRoute = route.get('project-write', `${base}/review-state`, {
  name: 'getReviewState',
  summary: 'Get your viewed files and drafts',
  description: 'Yours alone: other members have their own.',
  reply: reviewState,
})

export const editReviewStateRoute = route.patch('project-write', `${base}/review-state`, {
  name: 'editReviewState',
  summary: 'Change your viewed files and drafts',
  description:
    'Changes what it names and leaves the rest. `null` takes a file or draft away. At most 5,000 viewed files and 200 drafts. Agents have none.',
  errors: ['limit_reached'],
  effect: 'adds',
  body: z.object({
    viewed: z.record(z.string().min(1).max(4096), z.string().min(1).max(200).nullable()).optional(),
    drafts: z
      .record(uuid, draftComment.nullable())
      .refine((drafts) => Object.keys(drafts).length <= reviewCommentsMax, 'are too many')
      .optional(),
    visited: sha.optional().describe('The head that you see now.'),
    file_order: z.enum(fileOrders).optional().describe('How you read the files, in every change request.'),
  }),
  example: { body: { viewed: { 'README.md': '8c7e5a6' } } },
  reply: reviewState,
})

export const changeRequestVersion = named('ChangeRequestVersion', {
  number: z.number().int().describe('1 is the first one.'),
  from_sha: z.string().nullable().describe('The head before; null for the first version.'),
  head_sha: z.string(),
  base_sha: z.string().nullable().describe('The tip of the base branch then, where it is known.'),
  seen_at: timestamp.describe('When the service saw the push.'),
})

export const listVersionsRoute = route.get('project-write', `${base}/versions`, {
  name: 'listChangeRequestVersions',
  summary: 'List the versions of a change request',
  description:
    'One for each head that the service saw, oldest first; the last 1,000 are kept. `GET …/diff?since=<head>&to=<head>` compares two.',
  ...wholeList('versions', 'number'),
  reply: z.object({ versions: z.array(changeRequestVersion) }),
})
