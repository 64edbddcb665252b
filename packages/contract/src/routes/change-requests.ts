import { z } from 'zod'
import { mergeEffects } from '../schemas/effects.ts'
import { changeRequestStatuses } from '../schemas/change-request-moves.ts'
import { branchName } from './projects.ts'
import { bytesAtMost, line, metadata, named, page, route, sha, timestamp, uuid } from '../route.ts'
import { mergeErrors, repositoryErrors } from '../route-errors.ts'

export {
  changeRequestMoves,
  changeRequestStatuses,
  type ChangeRequestMove,
  type ChangeRequestStatus,
  isDraft,
  refuseMove,
} from '../schemas/change-request-moves.ts'

export const titleMax = 256
export const descriptionBytesMax = 64 * 1024
export const mergeMessageBytesMax = 16 * 1024

export const title = line(titleMax)
export const description = z.string().trim().refine(bytesAtMost(descriptionBytesMax), 'is larger than 64 KiB')

/** Exactly the fields that the specification lists. */
export const changeRequest = named('ChangeRequest', {
  cr_id: uuid,
  account_id: uuid,
  project_id: uuid,
  number: z.number().int(),
  title: z.string(),
  description: z.string(),
  base_ref: z.string(),
  head_ref: z.string(),
  status: z.enum(changeRequestStatuses),
  head_commit_sha: z.string().nullable(),
  base_commit_sha: z.string().nullable(),
  missing_ref: z
    .string()
    .nullable()
    .describe(
      'The branch that no longer exists, of an open one; null while both do. The commits are the last known ones.',
    ),
  origin_session_id: z.string().nullable(),
  created_by: uuid.nullable(),
  merged_at: timestamp.nullable(),
  merged_by: uuid.nullable(),
  merge_commit_sha: z.string().nullable(),
  closed_at: timestamp.nullable(),
  closed_by: uuid.nullable(),
  metadata: z.record(z.string(), z.json()),
  created_at: timestamp,
  updated_at: timestamp,
})
export type ChangeRequest = z.infer<typeof changeRequest>

const base = '/v1/projects/:projectId/change-requests'

/** The state of an open change request that is no draft: whether it can land. */
export const landingStates = [
  'ready',
  'confirm',
  'base_merged',
  'collides',
  'empty',
  'checking',
  'unreachable',
  'failing',
  'manifest_invalid',
  'conflicts',
  'branch_deleted',
] as const
export type LandingState = (typeof landingStates)[number]

export const changeRequestSummary = named('ChangeRequestSummary', {
  state: z
    .enum(landingStates)
    .nullable()
    .describe(
      'Whether an open one can land, as far as the server knows; null for the others. `confirm`: ready, except that a person has to confirm effects of the merge. `checking`: not known yet, or its checks run. `base_merged`: ready, but its base was merged elsewhere without it. `collides`: ready, but another open one conflicts once it has landed. `empty`: the base has all commits. `failing`: a check failed. `manifest_invalid`: svc.toml of the head has errors, and the project requires a valid one. `branch_deleted`: one of its branches no longer exists.',
    ),
  session: z.object({ session_id: uuid, name: z.string(), agent_name: z.string() }).nullable(),
  author: z.string().nullable().describe('The name of the user who opened it.'),
  same_branches: z
    .array(z.number().int())
    .optional()
    .describe('The first other open change requests with the same head and base. Left out when there are none.'),
  merge_lost: z
    .object({ server: z.string(), at: timestamp })
    .optional()
    .describe(
      'Its merge was acknowledged, and lost when this server was taken over without it. It stays merged; open a new change request of the head branch to merge it again. Left out for others.',
    ),
  conflicts: z.array(z.string()).describe('The first files that conflict with the base.'),
  conflict_count: z.number().int().nullable().describe('Null: not known yet.'),
  confirm_count: z
    .number()
    .int()
    .nullable()
    .describe('How many effects of the merge a person has to confirm. Null: not known yet.'),
  checks: z
    .object({
      defined: z.number().int(),
      passed: z.number().int(),
      failed: z.array(z.string()).describe('The names of those that failed.'),
      running: z.number().int(),
    })
    .nullable()
    .describe(
      'The checks on the merge of the current commits; null when there are none, or when they have not started.',
    ),
  additions: z.number().int().nullable().describe('Null: not known yet, or too long to count.'),
  deletions: z.number().int().nullable(),
  files: z.number().int().nullable(),
  touches: z.string().nullable().describe('The changed file to name: svc.toml before others.'),
  collisions: z
    .array(z.object({ number: z.number().int(), title: z.string(), files: z.array(z.string()) }))
    .nullable()
    .describe('Open change requests of the same base that conflict once this one has landed. Null: not compared yet.'),
  reviews: z.number().int(),
  comments: z.number().int().describe('The comments of all its reviews.'),
})
export type ChangeRequestSummary = z.infer<typeof changeRequestSummary>

const listSorts = ['newest', 'updated', 'ready'] as const

export const listChangeRequestsRoute = route.get('project-write', base, {
  name: 'listChangeRequests',
  summary: 'List the change requests of a project',
  description:
    'Newest first, unless `sort` says otherwise. The commits of open ones are read from the git host now. `include=summary` adds to each what a list shows of it; the server computes in the background what it does not know yet.',
  errors: [...repositoryErrors],
  query: page.extend({
    sort: z
      .enum(listSorts)
      .default('newest')
      .describe('`updated`: the last changed first. `ready`: those that can land first, then what is still checking.'),
    include: z.enum(['summary']).optional(),
    status: z.enum([...changeRequestStatuses, 'all']).default('all'),
    number: z.coerce.number().int().min(1).max(2147483647).optional(),
    head_ref: branchName.optional().describe('Only change requests of this head branch.'),
    base_ref: branchName.optional().describe('Only change requests into this base branch.'),
    created_by: uuid.optional().describe('Only change requests that this user opened, directly or through an agent.'),
    search: z
      .string()
      .trim()
      .max(titleMax)
      .refine((text) => !text.includes('\0'), 'contains a NUL character')
      .optional()
      .describe(
        'Only change requests with this text in the title, a branch name or the name of its session, or with this number. Case does not matter.',
      ),
  }),
  example: { query: { status: 'open', base_ref: 'main' } },
  reply: z.object({
    change_requests: z.array(changeRequest),
    summaries: z.record(uuid, changeRequestSummary).optional().describe('By `cr_id`. Only with `include=summary`.'),
  }),
})

export const openChangeRequestRoute = route.post('project-write', base, {
  name: 'openChangeRequest',
  summary: 'Open a change request',
  description: '`base_ref` is the default branch unless given. Both branches have to exist: `ref_not_found`.',
  errors: [...repositoryErrors, 'unprocessable', 'quota_exceeded'],
  effect: 'adds',
  body: z.object({
    title,
    description: description.default(''),
    head_ref: branchName,
    base_ref: branchName.optional(),
    session_id: z.string().max(200).nullable().optional(),
    metadata: metadata.optional(),
  }),
  status: 201,
  idempotent: true,
  example: { body: { title: 'Fix the build', description: 'The test used a fixed port.', head_ref: 'fix-build' } },
  reply: changeRequest,
})

export const getChangeRequestRoute = route.get('project-write', `${base}/:crId`, {
  name: 'getChangeRequest',
  summary: 'Get a change request',
  description: 'While it is open, its commits are read from the git host now.',
  errors: [...repositoryErrors],
  reply: z.object({ change_request: changeRequest }),
})

export const editChangeRequestRoute = route.patch('project-write', `${base}/:crId`, {
  name: 'editChangeRequest',
  summary: 'Edit a change request',
  description:
    'Title, description or metadata of one that is not merged. `metadata.draft: true` makes it a draft, which cannot be merged.',
  errors: ['not_open', ...repositoryErrors],
  effect: 'adds',
  body: z.object({ title: title.optional(), description: description.optional(), metadata: metadata.optional() }),
  example: { body: { title: 'Fix the build on Linux', metadata: { draft: false } } },
  reply: changeRequest,
})

/** Only of binary files, of which a diff has at most 2,000 with sizes. */
const size = z.number().int().nullable().optional()

export const diffFile = named('DiffFile', {
  path: z.string(),
  old_path: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed']),
  additions: z.number().int(),
  deletions: z.number().int(),
  binary: z.boolean(),
  old_size: size.describe('Bytes before the change.'),
  new_size: size.describe('Bytes after the change.'),
})

export const diff = named('ChangeRequestDiff', {
  cr_id: uuid,
  base_ref: z.string(),
  head_ref: z.string(),
  base_sha: z.string(),
  head_sha: z.string(),
  merge_base: z.string().nullable(),
  files: z.array(diffFile),
  files_changed: z.number().int(),
  additions: z.number().int(),
  deletions: z.number().int(),
  patch: z.string(),
  truncated: z.boolean(),
  whitespace_only: z
    .array(z.string())
    .optional()
    .describe(
      'Only with `ignore_whitespace`: files that differ in whitespace alone. They are not in `files` and not counted.',
    ),
  since: z
    .object({
      sha: z.string(),
      rewritten: z.boolean().describe('Whether the commit is no longer part of the head branch.'),
      base_moved: z.boolean().describe('Whether the branch merged more of its base since. Those changes are left out.'),
      conflicts: z
        .array(z.string())
        .describe(
          'Files in which the base and the earlier work conflict. Their diff starts from the conflict markers.',
        ),
    })
    .optional()
    .describe('Only with `since`.'),
})
export type ChangeRequestDiff = z.infer<typeof diff>

/** The content type of a diff in parts, for readers that show the first files before the last ones arrive. */
export const diffPartsType = 'application/x-ndjson'

/** The first line of a diff in parts. */
export const diffHead = diff.omit({ patch: true })
export type ChangeRequestDiffHead = z.infer<typeof diffHead>

/** Each further line: the next piece of the patch, cut anywhere. */
export interface ChangeRequestDiffPiece {
  patch: string
}
const diffQuery = z.object({
  renames: z.enum(['0', '1']).default('0'),
  ignore_whitespace: z
    .enum(['0', '1'])
    .default('0')
    .describe('`1` ignores lines that differ in whitespace alone, as `git diff -w` does.'),
  since: sha.optional().describe('Only the changes since this commit, which is or was a head of the branch.'),
  to: sha.optional().describe('The changes up to this commit, which is or was a head of the branch.'),
})

export const diffChangeRequestRoute = route.get('project-write', `${base}/:crId/diff`, {
  name: 'diffChangeRequest',
  summary: 'Get the diff of a change request',
  description:
    '`Accept: text/x-diff` returns the patch alone. `Accept: application/x-ndjson` returns the same diff in lines: first an object without `patch`, then objects with a `patch` each, to be joined. `since` compares with an earlier head, and `to` shows an earlier head instead of the current one.',
  errors: [...repositoryErrors, 'ref_missing', 'unprocessable'],
  query: diffQuery,
  stream: true,
  replyTypes: ['application/json', diffPartsType, 'text/x-diff'],
  example: { query: { ignore_whitespace: '1' } },
  reply: diff,
})

const place = z.object({ path: z.string(), line: z.number().int() })

export const readingGuide = named('ReadingGuide', {
  cr_id: uuid,
  base_sha: z.string(),
  head_sha: z.string(),
  order: z
    .array(
      z.object({
        path: z.string(),
        kind: z.enum(['source', 'test', 'other', 'generated']),
        imported_by: z.number().int().describe('How many of the other changed files import it.'),
        tests: z.string().nullable().describe('The changed file that this test tests.'),
      }),
    )
    .describe(
      'The changed files in an order to read them, from their imports and sizes: what others import first, then what imports it; each test after what it tests; generated and lock files last.',
    ),
  moves: z
    .array(
      z.object({
        from: place.describe('The first of its lines before the change.'),
        to: place.describe('The first of its lines after the change.'),
        lines: z.number().int(),
        reindented: z.boolean().describe('Whether the lines differ in their indentation.'),
      }),
    )
    .describe(
      'Blocks of at least three lines that the patch removes in one place and adds in another, in the order of the patch. Differences in outer white space are ignored.',
    ),
  truncated: z.boolean().describe('Whether files or moves were left out, because there are too many.'),
})
export type ReadingGuide = z.infer<typeof readingGuide>

export const getReadingGuideRoute = route.get('project-write', `${base}/:crId/reading-guide`, {
  name: 'getReadingGuide',
  summary: 'Get the reading guide of a change request',
  description:
    'An order to read the files of its diff, and the code that the diff moves. It takes the options of the diff.',
  errors: [...repositoryErrors, 'ref_missing', 'unprocessable'],
  query: diffQuery,
  example: { query: { renames: '1' } },
  reply: readingGuide,
})

export const previewParts = ['collisions', 'effects'] as const
export type PreviewPart = (typeof previewParts)[number]

const include = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(previewParts)))
  .default([])

export const mergePreview = named('MergePreview', {
  base_sha: z.string(),
  head_sha: z.string(),
  merge_base: z.string().nullable(),
  is_up_to_date: z.boolean(),
  can_merge: z.boolean(),
  can_fast_forward: z.boolean(),
  conflicts: z.array(z.string()),
  collisions: z
    .array(z.object({ number: z.number().int(), files: z.array(z.string()) }))
    .optional()
    .describe(
      'Only with `include=collisions`: open change requests of the same base that would conflict after this merge, newest first.',
    ),
  collisions_truncated: z
    .boolean()
    .optional()
    .describe('Whether there are more open change requests than the server compared.'),
  effects: mergeEffects.optional().describe('Only with `include=effects`: what merging does beyond code.'),
})
export type MergePreview = z.infer<typeof mergePreview>

export const previewChangeRequestRoute = route.get('project-write', `${base}/:crId/merge-preview`, {
  name: 'previewChangeRequest',
  summary: 'Preview the merge of a change request',
  description:
    'Returns whether it merges and which files conflict. `include=effects` adds what merging does beyond code, `include=collisions` the open change requests that would conflict afterwards.',
  errors: [...repositoryErrors, 'ref_missing', 'not_open', 'unprocessable'],
  query: z.object({ include }),
  example: { query: { include: 'effects' } },
  reply: mergePreview,
})

const result = z.object({ tree: z.string().nullable(), commit: z.string().nullable() })

export const verifyChangeRequestRoute = route.get('project-write', `${base}/:crId/verify`, {
  name: 'verifyChangeRequest',
  summary: 'Verify a merge',
  description: 'Makes the merge again from its stored receipt and compares tree and commit.',
  errors: [...repositoryErrors, 'not_open', 'ref_missing', 'unprocessable'],
  reply: z.object({
    verified: z.boolean(),
    kind: z.enum(['merge-commit', 'fast-forward', 'up-to-date']).nullable(),
    expected: result,
    got: result,
    git_version: z.string(),
    reason: z.string().optional().describe('Why the merge is not verified.'),
  }),
})

export const mergeChangeRequestRoute = route.post('project-write', `${base}/:crId/merge`, {
  name: 'mergeChangeRequest',
  summary: 'Merge a change request',
  description:
    'A fast-forward where possible, otherwise a merge commit. `expected_head_sha` and `expected_base_sha` refuse when a branch moved: `head_moved`, `base_moved`. A conflict answers `merge_conflict` with the files in `conflicts`. A push that keeps losing to others for 10 seconds answers `base_busy`.',
  errors: [
    ...repositoryErrors,
    'agent_merge_forbidden',
    ...mergeErrors,
    'manifest_invalid',
    'unprocessable',
    'quota_exceeded',
  ],
  effect: 'ends',
  body: z
    .object({
      message: z.string().refine(bytesAtMost(mergeMessageBytesMax), 'is larger than 16 KiB').optional(),
      expected_head_sha: sha.optional(),
      expected_base_sha: sha.optional(),
    })
    .optional(),
  idempotent: true,
  example: { body: { message: 'Fix the build' } },
  reply: z.object({
    change_request: changeRequest,
    merge: z.object({
      merge_commit_sha: z.string(),
      fast_forward: z.boolean(),
      up_to_date: z.boolean(),
      base_sha_before: z.string(),
      base_sha_after: z.string(),
    }),
  }),
})

/** For a base branch that the git host protects: the pull request there. */
const hostPullRequest = named('HostPullRequest', {
  protection: z
    .object({ branch: z.string(), reason: z.string(), found_by: z.enum(['api', 'push']), found_at: timestamp })
    .nullable()
    .describe(
      'Why the git host does not let the service push to the base branch; null when it does, as far as the server knows.',
    ),
  can_open: z.boolean().describe('Whether the git host has an API that can open pull requests.'),
  pull_request: z.object({ number: z.number().int(), url: z.string(), created_at: timestamp }).nullable(),
})
export type HostPullRequest = z.infer<typeof hostPullRequest>

export const getPullRequestRoute = route.get('project-write', `${base}/:crId/pull-request`, {
  name: 'getPullRequest',
  summary: 'Get the pull request of a change request on the git host',
  description: 'Also returns whether the git host protects the base branch.',
  errors: [...repositoryErrors, 'ref_missing'],
  reply: hostPullRequest,
})

export const openPullRequestRoute = route.post('project-write', `${base}/:crId/pull-request`, {
  name: 'openPullRequest',
  summary: 'Open a pull request on the git host',
  description: 'For a protected base branch. Returns the open pull request if there is one.',
  errors: [
    ...repositoryErrors,
    'ref_missing',
    'not_open',
    'unprocessable',
    'branch_protected',
    'agent_merge_forbidden',
    'merge_rejected',
  ],
  effect: 'adds',
  idempotent: true,
  reply: hostPullRequest,
})

export const closeChangeRequestRoute = route.post('project-write', `${base}/:crId/close`, {
  name: 'closeChangeRequest',
  summary: 'Close a change request without merging it',
  description: 'Closing a closed one changes nothing.',
  errors: ['not_open', ...repositoryErrors],
  effect: 'ends',
  reply: changeRequest,
})

export const reopenChangeRequestRoute = route.post('project-write', `${base}/:crId/reopen`, {
  name: 'reopenChangeRequest',
  summary: 'Reopen a closed change request',
  description: 'Fails with `conflict` while another one of the same branches is open.',
  errors: ['not_open', ...repositoryErrors, 'ref_missing'],
  effect: 'adds',
  reply: changeRequest,
})
