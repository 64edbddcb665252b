/** The files of a session: the work tree of its sandbox, or what is saved of it. */
import { z } from 'zod'
import { pathBytesMax } from './browse.ts'
import { bytesAtMost, route, timestamp } from '../route.ts'

/** A path as the service returns it: git's quoted form for a name that is not UTF-8. */
const path = z
  .string()
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'is not a path')
  .refine(bytesAtMost(pathBytesMax), 'is longer than 4096 bytes')
  .refine(isInside, 'must be relative to the work tree, without empty parts, `.` and `..`')

function isInside(text: string): boolean {
  return text === '' || text.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

const gitState = z
  .enum(['committed', 'changed', 'new', 'ignored'])
  .nullable()
  .describe(
    'Compared with the commit that is checked out. `new` is not committed, `ignored` is left out by git. Null when git did not say.',
  )

const place = {
  path: z.string(),
  source: z.enum(['sandbox', 'saved']).describe('`sandbox` is the work tree as it is now.'),
  saved_at: timestamp
    .nullable()
    .describe('When the unfinished work was saved. Null for a sandbox, and for a branch without unfinished work.'),
  git: gitState,
  notes: z.array(z.string()).describe('What is left out, and why.'),
}

export const sessionFiles = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('directory'),
      ...place,
      entries: z
        .array(
          z.object({
            name: z.string(),
            path: z.string(),
            type: z.enum(['file', 'executable', 'directory', 'symlink', 'submodule', 'special']),
            size: z.number().int().nullable(),
            git: gitState,
          }),
        )
        .describe('Folders first, each by name; at most 5,000.'),
      truncated: z.boolean().describe('Whether the folder has more entries.'),
    }),
    z.object({
      type: z.enum(['file', 'executable']),
      ...place,
      size: z.number().int(),
      binary: z.boolean(),
      encoding: z.enum(['utf-8', 'base64']).describe('`base64` for content that is not UTF-8.'),
      content: z.string().describe('Secrets are replaced.'),
      truncated: z.boolean().describe('Whether `content` is not the whole file.'),
    }),
    z.object({ type: z.literal('symlink'), ...place, target: z.string() }),
    z.object({ type: z.literal('special'), ...place }),
  ])
  .meta({ id: 'SessionFiles' })
export type SessionFiles = z.infer<typeof sessionFiles>

export const getSessionFilesRoute = route.get('project-read', '/v1/projects/:projectId/sessions/:sessionId/files', {
  name: 'getSessionFiles',
  summary: 'Read a folder or a file of a session',
  description:
    'The work tree of a running session as it is now, with files that are not committed and files that git ignores. Of any other session, its branch with the unfinished work that was saved. At most the first MiB of a text; other content is whole up to 4 MiB, or empty. Symbolic links are not followed. The content of ignored files needs write access. Without `path`, the top folder.',
  errors: ['runtime_booting', 'not_found', 'unprocessable'],
  query: z.object({ path: path.default('') }),
  example: { query: { path: 'README.md' } },
  reply: sessionFiles,
})
