import { z } from 'zod'
import { mergeEffects } from './effects.ts'
import { changeRequestStatuses } from './change-request-moves.ts'
import { branchName } from './projects.ts'
import { bytesAtMost, line, metadata, page, route, sha, timestamp, uuid } from './route.ts'

export {
  changeRequestMoves,
  changeRequestStatuses,
  type ChangeRequestMove,
  type ChangeRequestStatus,
  isDraft,
  refuseMove,
} from './change-request-moves.ts'

export const titleMax = 256
export const descriptionBytesMax = 64 * 1024
export const mergeMessageBytesMax = 16 * 1024

const title = line(titleMax)
const description = z.string().trim().refine(bytesAtMost(descriptionBytesMax), 'is larger than 64 KiB')

/** Exactly the fields of the table. */
export const changeRequest = z.object({
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

export const listChangeRequestsRoute = route({
  name: 'listChangeRequests',
  summary: 'The change requests of a project, newest first, with live branch tips',
  method: 'GET',
  path: base,
  access: 'project-write',
  query: page.extend({
    status: z.enum([...changeRequestStatuses, 'all']).default('all'),
    number: z.coerce.number().int().min(1).max(2147483647).optional(),
    /** Those of exactly this head branch. */
    head_ref: branchName.optional(),
    /** Those into exactly this base branch. */
    base_ref: branchName.optional(),
    /** Those that this user opened, by themselves or through an agent. */
    created_by: uuid.optional(),
    /** Those with this in their title or the name of a branch, or with this number; upper and lower case are the same. */
    search: z
      .string()
      .trim()
      .max(titleMax)
      .refine((text) => !text.includes('\0'), 'holds a NUL character')
      .optional(),
  }),
  reply: z.object({ change_requests: z.array(changeRequest) }),
})

export const openChangeRequestRoute = route({
  name: 'openChangeRequest',
  summary: 'Open a change request',
  method: 'POST',
  path: base,
  access: 'project-write',
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
  reply: changeRequest,
})

export const getChangeRequestRoute = route({
  name: 'getChangeRequest',
  summary: 'One change request, with live branch tips while it is open',
  method: 'GET',
  path: `${base}/:crId`,
  access: 'project-write',
  reply: z.object({ change_request: changeRequest }),
})

export const editChangeRequestRoute = route({
  name: 'editChangeRequest',
  summary: 'Edit title, description or metadata of a change request that is not merged',
  method: 'PATCH',
  path: `${base}/:crId`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({ title: title.optional(), description: description.optional(), metadata: metadata.optional() }),
  reply: changeRequest,
})

export const diffFile = z.object({
  path: z.string(),
  old_path: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed']),
  additions: z.number().int(),
  deletions: z.number().int(),
  binary: z.boolean(),
})

export const diff = z.object({
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
  /** Only when whitespace is ignored: the files that change nothing else, which are neither in `files` nor counted. */
  whitespace_only: z.array(z.string()).optional(),
  /** Only with `since`. */
  since: z
    .object({
      sha: z.string(),
      /** It is no longer part of the head branch, which was rewritten. */
      rewritten: z.boolean(),
      /** The branch took in more of its base, which is left out of the comparison. */
      base_moved: z.boolean(),
      /** Files in which that and the earlier work conflict: they are compared from their conflict markers on. */
      conflicts: z.array(z.string()),
    })
    .optional(),
})
export type ChangeRequestDiff = z.infer<typeof diff>

export const diffChangeRequestRoute = route({
  name: 'diffChangeRequest',
  summary: 'What a change request changes; `Accept: text/x-diff` answers the patch alone',
  method: 'GET',
  path: `${base}/:crId/diff`,
  access: 'project-write',
  query: z.object({
    renames: z.enum(['0', '1']).default('0'),
    /** Lines that differ in whitespace alone count as the same, as with `git diff -w`. */
    ignore_whitespace: z.enum(['0', '1']).default('0'),
    /** Only what came since this commit: one of the head branch, or a head it had before it was rewritten. */
    since: sha.optional(),
  }),
  stream: true,
  replyTypes: ['application/json', 'text/x-diff'],
  reply: diff,
})

export const previewParts = ['collisions', 'effects'] as const
export type PreviewPart = (typeof previewParts)[number]

/** Names separated by commas. */
const include = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(previewParts)))
  .default([])

export const mergePreview = z.object({
  base_sha: z.string(),
  head_sha: z.string(),
  merge_base: z.string().nullable(),
  is_up_to_date: z.boolean(),
  can_merge: z.boolean(),
  can_fast_forward: z.boolean(),
  conflicts: z.array(z.string()),
  /** Only when asked for: open ones of the same base that would come to conflict once this one lands, newest first. */
  collisions: z.array(z.object({ number: z.number().int(), files: z.array(z.string()) })).optional(),
  /** There are more open ones than were looked at. */
  collisions_truncated: z.boolean().optional(),
  /** Only when asked for: what merging does beyond code. */
  effects: mergeEffects.optional(),
})
export type MergePreview = z.infer<typeof mergePreview>

export const previewChangeRequestRoute = route({
  name: 'previewChangeRequest',
  summary: 'Whether a change request merges, and which files would conflict',
  method: 'GET',
  path: `${base}/:crId/merge-preview`,
  access: 'project-write',
  query: z.object({ include }),
  reply: mergePreview,
})

const result = z.object({ tree: z.string().nullable(), commit: z.string().nullable() })

export const verifyChangeRequestRoute = route({
  name: 'verifyChangeRequest',
  summary: 'Makes a merge again from its stored receipt and compares tree and commit',
  method: 'GET',
  path: `${base}/:crId/verify`,
  access: 'project-write',
  reply: z.object({
    verified: z.boolean(),
    kind: z.enum(['merge-commit', 'fast-forward', 'up-to-date']).nullable(),
    expected: result,
    got: result,
    git_version: z.string(),
    /** Why it is not verified. */
    reason: z.string().optional(),
  }),
})

export const mergeChangeRequestRoute = route({
  name: 'mergeChangeRequest',
  summary: 'Merge an open change request: a fast-forward where possible, else a merge commit',
  method: 'POST',
  path: `${base}/:crId/merge`,
  access: 'project-write',
  effect: 'ends',
  body: z
    .object({
      message: z.string().refine(bytesAtMost(mergeMessageBytesMax), 'is larger than 16 KiB').optional(),
      expected_head_sha: sha.optional(),
      expected_base_sha: sha.optional(),
    })
    .optional(),
  idempotent: true,
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

/** How a change request lands whose base the git host protects. */
const hostPullRequest = z.object({
  /** Why the host does not let the service push to the base; null: it does, as far as is known. */
  protection: z
    .object({ branch: z.string(), reason: z.string(), found_by: z.enum(['api', 'push']), found_at: timestamp })
    .nullable(),
  /** The host has an API by which the service opens pull requests. */
  can_open: z.boolean(),
  pull_request: z.object({ number: z.number().int(), url: z.string(), created_at: timestamp }).nullable(),
})
export type HostPullRequest = z.infer<typeof hostPullRequest>

export const getPullRequestRoute = route({
  name: 'getPullRequest',
  summary: 'Whether the git host protects the base, and the pull request there',
  method: 'GET',
  path: `${base}/:crId/pull-request`,
  access: 'project-write',
  reply: hostPullRequest,
})

export const openPullRequestRoute = route({
  name: 'openPullRequest',
  summary: 'Open a pull request for it on the git host, or find the one that is open',
  method: 'POST',
  path: `${base}/:crId/pull-request`,
  access: 'project-write',
  effect: 'adds',
  idempotent: true,
  reply: hostPullRequest,
})

export const closeChangeRequestRoute = route({
  name: 'closeChangeRequest',
  summary: 'Close a change request without merging it',
  method: 'POST',
  path: `${base}/:crId/close`,
  access: 'project-write',
  effect: 'ends',
  reply: changeRequest,
})

export const reopenChangeRequestRoute = route({
  name: 'reopenChangeRequest',
  summary: 'Reopen a closed change request',
  method: 'POST',
  path: `${base}/:crId/reopen`,
  access: 'project-write',
  effect: 'adds',
  reply: changeRequest,
})
