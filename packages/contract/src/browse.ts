/** Looking into a project's repository: branches, commits, folders, files, and two branches side by side. */
import { z } from 'zod'
import { diffFile, mergePreview } from './change-requests.ts'
import { branchName } from './projects.ts'
import { bytesAtMost, page, pageOfWhole, route, timestamp } from './route.ts'

export const pathBytesMax = 4096
export const fileTextBytesMax = 1024 * 1024
export const treeEntriesMax = 10_000
export const compareCommitsMax = 250

/** A branch, or a full commit id that some branch contains. A branch of that name comes first. */
const ref = branchName

/** As the service gives it: a name that is no UTF-8 in git's quoted form, `"caf\351.txt"`. */
const path = z
  .string()
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'is no path')
  .refine(bytesAtMost(pathBytesMax), 'is longer than 4096 bytes')

const base = '/v1/projects/:projectId'

export const listBranchesRoute = route({
  name: 'listBranches',
  summary: 'The branches of a project by name, as they are now',
  method: 'GET',
  path: `${base}/branches`,
  access: 'project-read',
  query: page,
  reply: z.object({
    branches: z.array(z.object({ name: z.string(), sha: z.string(), is_default: z.boolean() })),
  }),
})

export const commitEntry = z.object({
  sha: z.string(),
  parents: z.array(z.string()),
  author_name: z.string(),
  author_email: z.string(),
  authored_at: timestamp,
  committed_at: timestamp,
  subject: z.string(),
  body: z.string(),
})

export const listCommitsRoute = route({
  name: 'listCommits',
  summary: 'The history of a branch or commit, newest first; with `path`, of one file or folder',
  method: 'GET',
  path: `${base}/commits`,
  access: 'project-read',
  query: page.extend({ ref: ref.optional(), path: path.optional() }),
  reply: z.object({ ref: z.string(), sha: z.string(), commits: z.array(commitEntry) }),
})

export const listTreeRoute = route({
  name: 'listTree',
  summary: 'What is in a folder at a branch or commit, folders first',
  method: 'GET',
  path: `${base}/tree`,
  access: 'project-read',
  query: pageOfWhole.extend({ ref: ref.optional(), path: path.default('') }),
  pages: { list: 'entries', by: 'name' },
  reply: z.object({
    ref: z.string(),
    sha: z.string(),
    path: z.string(),
    entries: z.array(
      z.object({
        name: z.string(),
        path: z.string(),
        type: z.enum(['file', 'executable', 'directory', 'symlink', 'submodule']),
        sha: z.string(),
        size: z.number().int().nullable(),
      }),
    ),
    truncated: z.boolean(),
  }),
})

export const getFileRoute = route({
  name: 'getFile',
  summary: 'One file at a branch or commit; `Accept: application/octet-stream` answers its bytes alone',
  method: 'GET',
  path: `${base}/file`,
  access: 'project-read',
  query: z.object({ ref: ref.optional(), path }),
  stream: true,
  reply: z.object({
    ref: z.string(),
    sha: z.string(),
    path: z.string(),
    type: z.enum(['file', 'executable', 'symlink']),
    blob_sha: z.string(),
    size: z.number().int(),
    binary: z.boolean(),
    /** What is not UTF-8 comes as base64. */
    encoding: z.enum(['utf-8', 'base64']),
    content: z.string(),
    /** Only the first MiB is here; the bytes alone are always whole. */
    truncated: z.boolean(),
  }),
})

export const compareRefsRoute = route({
  name: 'compareRefs',
  summary: 'What a change request of these two branches would be: how it merges, what it changes, its commits',
  method: 'GET',
  path: `${base}/compare`,
  access: 'project-read',
  query: z.object({ base: ref.optional(), head: ref }),
  reply: mergePreview.omit({ collisions: true, collisions_truncated: true }).extend({
    base_ref: z.string(),
    head_ref: z.string(),
    ahead: z.number().int(),
    behind: z.number().int(),
    /** The newest of those ahead. */
    commits: z.array(commitEntry),
    files: z.array(diffFile),
    files_changed: z.number().int(),
    additions: z.number().int(),
    deletions: z.number().int(),
    truncated: z.boolean(),
  }),
})
