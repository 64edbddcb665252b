/** Reads a project's repository: branches, commits, folders, files, and comparisons. */
import { z } from 'zod'
import { changeRequest, description, diffFile, mergePreview, title } from './change-requests.ts'
import { branchName } from './projects.ts'
import { bytesAtMost, named, page, pageOfWhole, route, sha, timestamp } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'

export const pathBytesMax = 4096
export const fileTextBytesMax = 1024 * 1024
export const treeEntriesMax = 10_000
export const compareCommitsMax = 250
export const pathsMax = 50_000
export const searchMatchesMax = 200
const searchBytesMax = 200

/** A branch, or a full commit id that some branch contains. A branch takes precedence. */
const ref = branchName

/** A path as the service returns it: git's quoted form for a name that is not UTF-8, `"caf\351.txt"`. */
const path = z
  .string()
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'is not a path')
  .refine(bytesAtMost(pathBytesMax), 'is longer than 4096 bytes')

const base = '/v1/projects/:projectId'

export const listBranchesRoute = route.get('project-read', `${base}/branches`, {
  name: 'listBranches',
  summary: 'List the branches of a project',
  description: 'By name, read from the git host now.',
  errors: [...repositoryErrors, 'unprocessable'],
  query: page,
  reply: z.object({
    branches: z.array(z.object({ name: z.string(), sha: z.string(), is_default: z.boolean() })),
  }),
})

export const commitEntry = named('CommitEntry', {
  sha: z.string(),
  parents: z.array(z.string()),
  author_name: z.string(),
  author_email: z.string(),
  authored_at: timestamp,
  committed_at: timestamp,
  subject: z.string(),
  body: z.string(),
  path: z
    .string()
    .optional()
    .describe('Only in the history of a file: its name in this commit, where it was another one.'),
})

export const listCommitsRoute = route.get('project-read', `${base}/commits`, {
  name: 'listCommits',
  summary: 'List the commits of a branch or commit',
  description:
    'Newest first. With `path`, only commits that changed that file or folder. The history of a file goes on under its names before renames, as far as git detects them.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: page.extend({ ref: ref.optional(), path: path.optional() }),
  example: { query: { ref: 'main', path: 'README.md' } },
  reply: z.object({ ref: z.string(), sha: z.string(), commits: z.array(commitEntry) }),
})

export const listTreeRoute = route.get('project-read', `${base}/tree`, {
  name: 'listTree',
  summary: 'List a folder at a branch or commit',
  description: 'Folders come first. At most 10,000 entries; `truncated` is true when there are more.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: pageOfWhole.extend({ ref: ref.optional(), path: path.default('') }),
  pages: { list: 'entries', by: 'name' },
  example: { query: { ref: 'main', path: 'src' } },
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

export const getFileRoute = route.get('project-read', `${base}/file`, {
  name: 'getFile',
  summary: 'Get a file at a branch or commit',
  description:
    'JSON contains at most 1 MiB of content; `truncated` is true when there is more. `Accept: application/octet-stream` returns all bytes.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: z.object({ ref: ref.optional(), path }),
  stream: true,
  replyTypes: ['application/json', 'application/octet-stream'],
  example: { query: { ref: 'main', path: 'README.md' } },
  reply: z.object({
    ref: z.string(),
    sha: z.string(),
    path: z.string(),
    type: z.enum(['file', 'executable', 'symlink']),
    blob_sha: z.string(),
    size: z.number().int(),
    binary: z.boolean(),
    encoding: z.enum(['utf-8', 'base64']).describe('`base64` for content that is not UTF-8.'),
    content: z.string(),
    truncated: z.boolean().describe('Whether `content` is only the first MiB. The raw bytes are always complete.'),
  }),
})

/** People edit such files by hand; larger ones belong into a clone. */
export const editBytesMax = 512 * 1024
const editBodyLimit = { bytesMax: 4 * 1024 * 1024, refusal: 'The request body is larger than 4 MiB.' }
const wellFormed = z.string().refine((text) => text.isWellFormed(), 'is not well-formed Unicode')

export const proposeFileRoute = route.post('project-write', `${base}/file`, {
  name: 'proposeFile',
  summary: 'Change a text file in a change request',
  description:
    'Commits `content` as the caller on a new branch that starts at `ref`, and opens a change request into `ref`. At most 512 KiB of UTF-8, stored byte by byte. `blob_sha` is the file that was edited: a file that changed since is 409 `conflict` with the current `blob_sha`. For people: the token of a session is refused.',
  errors: [...repositoryErrors, 'unprocessable', 'quota_exceeded'],
  effect: 'adds',
  body: z.object({
    ref: branchName.optional().describe('A branch; the default branch unless given.'),
    path,
    blob_sha: sha.describe('The `blob_sha` of the file that was edited.'),
    content: wellFormed.refine(bytesAtMost(editBytesMax), 'is longer than 512 KiB'),
    title: title.optional().describe('`Edit <path>` unless given.'),
    description: description.default(''),
  }),
  bodyLimit: editBodyLimit,
  status: 201,
  idempotent: true,
  example: {
    body: { path: 'README.md', blob_sha: 'ce013625030ba8dba906f756967f9e9ca394464a', content: 'Hello, world\n' },
  },
  reply: changeRequest,
})

export const firstCommitFilesMax = 20

export const createFirstCommitRoute = route.post('project-write', `${base}/first-commit`, {
  name: 'createFirstCommit',
  summary: 'Make the first commit of an empty repository',
  description:
    'Commits text files as the caller and creates the default branch, which only merges write from then on. For a repository that this server hosts and that has no branch; any other is 409 `conflict`. At most 20 files and 512 KiB of UTF-8 together, stored byte by byte. For people: the token of a session is refused.',
  errors: [...repositoryErrors, 'unprocessable', 'quota_exceeded'],
  effect: 'adds',
  body: z
    .object({
      files: z
        .array(z.object({ path, content: wellFormed }))
        .min(1)
        .max(firstCommitFilesMax)
        .refine(
          (files) => bytesAtMost(editBytesMax)(files.map(({ content }) => content).join('')),
          'is longer than 512 KiB',
        )
        .optional()
        .describe('A `README.md` with the name of the project unless given.'),
      message: title.optional().describe('`First commit` unless given.'),
    })
    .optional(),
  bodyLimit: editBodyLimit,
  status: 201,
  idempotent: true,
  example: { body: { files: [{ path: 'README.md', content: '# Website\n' }], message: 'Begin' } },
  reply: z.object({ branch: z.string(), sha }),
})

export const blameFileRoute = route.get('project-read', `${base}/blame`, {
  name: 'blameFile',
  summary: 'Show who last changed each line of a file',
  description:
    'Ranges of lines with the commit that last changed them. For text files of at most 1 MiB whose path is UTF-8; others are 422.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: z.object({ ref: ref.optional(), path }),
  example: { query: { ref: 'main', path: 'README.md' } },
  reply: z.object({
    ref: z.string(),
    sha: z.string(),
    path: z.string(),
    ranges: z.array(
      z.object({
        start: z.number().int().describe('The first line, counted from 1.'),
        end: z.number().int().describe('The last line.'),
        sha: z.string(),
        path: z.string().describe('The name of the file in that commit.'),
      }),
    ),
    commits: z
      .array(
        z.object({
          sha: z.string(),
          author_name: z.string(),
          author_email: z.string(),
          authored_at: timestamp,
          subject: z.string(),
        }),
      )
      .describe('The commits of the ranges, each once.'),
  }),
})

export const listPathsRoute = route.get('project-read', `${base}/paths`, {
  name: 'listPaths',
  summary: 'List the paths of all files at a branch or commit',
  description:
    'Of at most 50,000 files; `truncated` is true when there are more. With `search`, only paths that have each word of it, in upper or lower case; those with all of them in the name of the file come first.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: pageOfWhole.extend({
    ref: ref.optional(),
    search: z.string().trim().min(1).max(256).optional().describe('Words of the path.'),
  }),
  pages: { list: 'files', by: 'path' },
  example: { query: { ref: 'main' } },
  reply: z.object({
    ref: z.string(),
    sha: z.string(),
    files: z.array(z.object({ path: z.string() })),
    truncated: z.boolean(),
  }),
})

export const searchFilesRoute = route.get('project-read', `${base}/search`, {
  name: 'searchFiles',
  summary: 'Search the text files of a branch or commit',
  description:
    'Lines that contain `text`, in upper or lower case. At most 200 lines; `truncated` is true when there are more. Binary files are left out.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: z.object({
    ref: ref.optional(),
    text: z
      .string()
      .min(1)
      .refine((text) => !/[\0\r\n]/.test(text) && text.isWellFormed(), 'is not one line of text')
      .refine(bytesAtMost(searchBytesMax), 'is longer than 200 bytes'),
  }),
  example: { query: { ref: 'main', text: 'greet' } },
  reply: z.object({
    ref: z.string(),
    sha: z.string(),
    matches: z.array(
      z.object({
        path: z.string(),
        line: z.number().int(),
        text: z.string().describe('The line. Of a long line, the part around the match.'),
      }),
    ),
    truncated: z.boolean(),
  }),
})

export const compareRefsRoute = route.get('project-read', `${base}/compare`, {
  name: 'compareRefs',
  summary: 'Compare two branches',
  description:
    'Returns what a change request would contain: the merge result, the changed files, and at most 250 commits. `include=patch` adds the text of the changes.',
  errors: [...repositoryErrors, 'not_found', 'unprocessable'],
  query: z.object({ base: ref.optional(), head: ref, include: z.enum(['patch']).optional() }),
  example: { query: { base: 'main', head: 'fix-build' } },
  reply: mergePreview.omit({ collisions: true, collisions_truncated: true }).extend({
    base_ref: z.string(),
    head_ref: z.string(),
    ahead: z.number().int(),
    behind: z.number().int(),
    commits: z.array(commitEntry).describe('The newest commits of the head that the base lacks; at most 250.'),
    files: z.array(diffFile),
    files_changed: z.number().int(),
    additions: z.number().int(),
    deletions: z.number().int(),
    truncated: z.boolean(),
    patch: z.string().optional().describe('With `include=patch`. `truncated` is true when it is not whole.'),
  }),
})
