/** Work of a session that nobody committed and pushed: the service keeps it, and gives it back. */
import { z } from 'zod'
import { ok, pageOfWhole, route, sha, timestamp, uuid } from './route.ts'

const base = '/v1/projects/:projectId/sessions/:sessionId/wip'

/** One saved state. `files` differ from `base`; `paths` are the first hundred of them. */
export const savedWork = z.object({
  generation: z.number().int(),
  saved_at: timestamp,
  commit: sha,
  /** The commit that was checked out; null when the sandbox had no repository any more. */
  base: sha.nullable(),
  files: z.number().int(),
  paths: z.array(z.string()),
  /** Commits that were made and never pushed. */
  unpushed_commits: z.number().int(),
  /** What was left out, and why. */
  notes: z.array(z.string()),
})
export type SavedWorkOfSession = z.infer<typeof savedWork>

/** All null and zero when there is none. */
export const unfinishedWork = z.object({
  saved_at: timestamp.nullable(),
  commit: sha.nullable(),
  base: sha.nullable(),
  files: z.number().int(),
  paths: z.array(z.string()),
  unpushed_commits: z.number().int(),
  notes: z.array(z.string()),
  generation: z.number().int().nullable(),
  /** Of earlier starts of the session, newest first, as long as they were not recovered. */
  earlier: z.array(savedWork),
})

export const getUnfinishedWorkRoute = route({
  name: 'getUnfinishedWork',
  summary: 'What a session holds that was not committed and pushed, as the service saved it last',
  method: 'GET',
  path: base,
  access: 'project-read',
  reply: unfinishedWork,
})

export const saveUnfinishedWorkRoute = route({
  name: 'saveUnfinishedWork',
  summary: 'Save the unfinished work of a running session now',
  method: 'POST',
  path: base,
  access: 'project-write',
  effect: 'adds',
  reply: unfinishedWork,
})

export const bundleUnfinishedWorkRoute = route({
  name: 'bundleUnfinishedWork',
  summary: 'Saved work as a git bundle, without the commits named by `have`',
  method: 'GET',
  path: `${base}/bundle`,
  access: 'project-read',
  query: z.object({
    /** Commit ids, separated by commas. */
    have: z
      .string()
      .max(10_000)
      .regex(/^[0-9a-f,]*$/, 'is no list of commit ids')
      .optional(),
    generation: z.coerce.number().int().min(1).optional(),
  }),
  stream: true,
  replyTypes: ['application/x-git-bundle'],
  reply: z.string(),
})

export const recoverUnfinishedWorkRoute = route({
  name: 'recoverUnfinishedWork',
  summary: 'Apply saved work to the work tree of the running session',
  method: 'POST',
  path: `${base}/recover`,
  access: 'project-write',
  effect: 'adds',
  reply: z.object({ ok: z.literal(true), files: z.number().int() }),
})

export const listUnfinishedWorkRoute = route({
  name: 'listUnfinishedWork',
  summary: 'Sessions of a project that hold unfinished work',
  method: 'GET',
  path: '/v1/projects/:projectId/unfinished-work',
  access: 'project-read',
  query: pageOfWhole,
  pages: { list: null, by: 'session_id' },
  reply: z.array(
    z.object({
      session_id: uuid,
      saved_at: timestamp,
      files: z.number().int(),
      unpushed_commits: z.number().int(),
    }),
  ),
})

/** A client that applied it says so, and it is no longer shown as unfinished. */
export const settleUnfinishedWorkRoute = route({
  name: 'settleUnfinishedWork',
  summary: 'Say that saved work was recovered, so that it is no longer shown',
  method: 'POST',
  path: `${base}/recovered`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({ commit: sha }),
  reply: ok,
})
