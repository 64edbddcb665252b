/** Work of a session that is not committed and pushed. The service stores it and restores it. */
import { z } from 'zod'
import { named, ok, route, sha, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'
import { diffFile } from './change-requests.ts'

const base = '/v1/projects/:projectId/sessions/:sessionId/wip'

/** One saved state. `files` differ from `base`; `paths` are the first hundred of them. */
export const savedWork = named('SavedWork', {
  generation: z.number().int(),
  saved_at: timestamp,
  commit: sha,
  base: sha.nullable().describe('The commit that was checked out; null when the sandbox had no repository.'),
  files: z.number().int(),
  paths: z.array(z.string()),
  unpushed_commits: z.number().int().describe('Commits that were never pushed.'),
  notes: z.array(z.string()).describe('What was left out, and why.'),
})
export type SavedWorkOfSession = z.infer<typeof savedWork>

/** All null and zero when there is none. */
export const unfinishedWork = named('UnfinishedWork', {
  saved_at: timestamp.nullable(),
  commit: sha.nullable(),
  base: sha.nullable(),
  files: z.number().int(),
  paths: z.array(z.string()),
  unpushed_commits: z.number().int(),
  notes: z.array(z.string()),
  generation: z.number().int().nullable(),
  returns: z
    .boolean()
    .optional()
    .describe(
      'Whether the next start of the session puts it back into the work tree by itself, as after its server was taken over. Older servers omit it.',
    ),
  earlier: z.array(savedWork).describe('Saved work of earlier starts, newest first, until it is recovered.'),
  lost: z
    .array(
      z.object({
        generation: z.number().int(),
        saved_at: timestamp,
        files: z.number().int(),
        unpushed_commits: z.number().int(),
      }),
    )
    .optional()
    .describe(
      'Saved work that is lost, newest first: the repository does not have it any more, as after a restore of an older backup. Older servers omit it.',
    ),
})

export const getUnfinishedWorkRoute = route.get('project-read', base, {
  name: 'getUnfinishedWork',
  summary: 'Get the unfinished work of a session',
  description:
    'Files that were not committed and commits that were not pushed, as they were saved last. Waits a few seconds for a save that is under way; a note says when the newest state is not saved.',
  reply: unfinishedWork,
})

export const saveUnfinishedWorkRoute = route.post('project-write', base, {
  name: 'saveUnfinishedWork',
  summary: 'Save the unfinished work of a running session',
  description: 'The server also does this at intervals and before a stop.',
  errors: ['runtime_booting', 'quota_exceeded', ...repositoryErrors],
  effect: 'adds',
  reply: unfinishedWork,
})

export const bundleUnfinishedWorkRoute = route.get('project-read', `${base}/bundle`, {
  name: 'bundleUnfinishedWork',
  summary: 'Download saved work as a git bundle',
  description: 'Leaves out the commits that `have` names.',
  query: z.object({
    have: z
      .string()
      .max(10_000)
      .regex(/^[0-9a-f,]*$/, 'is not a list of commit ids')
      .optional()
      .describe('Commit ids, separated by commas.'),
    generation: z.coerce.number().int().min(0).optional(),
  }),
  stream: true,
  replyTypes: ['application/x-git-bundle'],
  reply: z.string(),
})

export const recoverUnfinishedWorkRoute = route.post('project-write', `${base}/recover`, {
  name: 'recoverUnfinishedWork',
  summary: 'Apply saved work to a running session',
  description: 'Writes the files into the work tree of the sandbox.',
  errors: ['runtime_booting', 'quota_exceeded', ...repositoryErrors, 'merge_conflict'],
  effect: 'adds',
  reply: z.object({ ok: z.literal(true), files: z.number().int() }),
})

export const listUnfinishedWorkRoute = route.get('project-read', '/v1/projects/:projectId/unfinished-work', {
  name: 'listUnfinishedWork',
  summary: 'List sessions with unfinished work',
  description: 'Only sessions that have some.',
  ...wholeList(null, 'session_id'),
  reply: z.array(
    z.object({
      session_id: uuid,
      saved_at: timestamp,
      files: z.number().int(),
      unpushed_commits: z.number().int(),
    }),
  ),
})

/** For clients that applied the work themselves. */
export const settleUnfinishedWorkRoute = route.post('project-write', `${base}/recovered`, {
  name: 'settleUnfinishedWork',
  summary: 'Mark saved work as recovered',
  description: 'It is no longer listed as unfinished.',
  effect: 'adds',
  body: z.object({ commit: sha }),
  example: { body: { commit: '9fceb02d0ae598e95dc970b74767f19372d61af8' } },
  reply: ok,
})

/** The branch of a session and its unfinished work together, compared with where the branch left its base. */
export const sessionChanges = named('SessionChanges', {
  base: sha.nullable().describe('Where the branch left its base; null for unrelated histories and without commits.'),
  head: sha.nullable().describe('The newest saved work, or the tip of the branch when everything is pushed.'),
  files: z
    .array(diffFile.extend({ is_pushed: z.boolean().describe('Whether the branch has this content.') }))
    .describe('At most 2,000.'),
  files_changed: z.number().int(),
  additions: z.number().int(),
  deletions: z.number().int(),
  truncated: z.boolean().describe('Whether files or lines are left out.'),
  patch: z.string().optional().describe('Only with `include=patch`. Secrets are replaced.'),
  saved_at: timestamp.nullable().describe('When the unpushed part was saved; null when everything is pushed.'),
  unpushed_commits: z.number().int(),
  notes: z.array(z.string()).describe('What was left out, and why.'),
})
export type SessionChanges = z.infer<typeof sessionChanges>

export const getSessionChangesRoute = route.get('project-read', '/v1/projects/:projectId/sessions/:sessionId/changes', {
  name: 'getSessionChanges',
  summary: 'Get the changes of a session',
  description:
    'Every file that differs from where the session branch left its base, pushed or not. Of a running session they are those of the newest save, which follows each tool call of the agent by seconds.',
  errors: ['unprocessable'],
  query: z.object({ include: z.enum(['patch']).optional() }),
  example: { query: { include: 'patch' } },
  reply: sessionChanges,
})
