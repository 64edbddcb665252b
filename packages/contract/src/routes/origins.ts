/** The authors of a file's changed lines: tool calls and prompts of the sessions behind a change request, and its commits. */
import { z } from 'zod'
import { repositoryErrors } from '../route-errors.ts'
import { named, route, timestamp, uuid } from '../route.ts'

export const originPromptCharsMax = 600
export const originCandidatesMax = 3

const candidateReasons = ['same_text', 'names_file', 'ran_before_commit', 'sub_agent', 'cut'] as const

export const lineOrigin = named('LineOrigin', {
  side: z.enum(['new', 'old']).describe('`old`: removed lines, with their numbers in the file before the change.'),
  start: z.number().int().describe('The first line, counted from 1.'),
  end: z.number().int().describe('The last line.'),
  call_id: z
    .string()
    .nullable()
    .describe(
      'The tool call that wrote these lines, or removed them. Lines are compared without their indentation. Null: the transcript does not show one.',
    ),
  commit_sha: z.string().nullable().describe('The commit that last changed these lines. Null for removed lines.'),
  candidates: z
    .array(z.object({ call_id: z.string(), reason: z.enum(candidateReasons) }))
    .max(originCandidatesMax)
    .describe(
      'Tool calls that may have written them, where `call_id` is null. `same_text`: wrote the same text into this file. `names_file`: a command that names the file and ran before the commit. `ran_before_commit`: another command before the commit. `sub_agent`: its sub-agent changed the file. `cut`: the stored call is too long to compare.',
    ),
})
export type LineOrigin = z.infer<typeof lineOrigin>

export const originCall = named('OriginCall', {
  call_id: z.string().describe('The id of the part in the transcript.'),
  message_id: z.string(),
  session_id: uuid,
  prompt_id: z.string().nullable().describe('The `message_id` of the prompt that it worked on.'),
  tool: z.string(),
  title: z.string().describe('The file or the command.'),
  at: timestamp.describe('When the message of the call began.'),
})
export type OriginCall = z.infer<typeof originCall>

export const origins = named('ChangeRequestOrigins', {
  head_sha: z.string(),
  path: z.string(),
  lines: z.array(lineOrigin).describe('Every added line, and the removed lines of changes that only remove.'),
  calls: z.array(originCall).describe('The named calls, oldest first.'),
  prompts: z.array(
    z.object({
      message_id: z.string(),
      session_id: uuid,
      text: z.string().describe(`The first ${originPromptCharsMax} characters.`),
      truncated: z.boolean(),
      at: timestamp,
    }),
  ),
  commits: z.array(
    z.object({
      sha: z.string(),
      author_name: z.string(),
      authored_at: timestamp,
      subject: z.string(),
      by_agent: z
        .boolean()
        .describe('Whether its author is the git identity of sandboxes. Git does not verify authors.'),
    }),
  ),
  sessions: z
    .array(z.object({ session_id: uuid, name: z.string() }))
    .describe('The sessions whose transcripts were read: of the head branch, and those that they started.'),
  withheld: z.boolean().describe('There are sessions whose transcripts you may not read.'),
  truncated: z.boolean().describe('Only the newest part of the transcripts was read.'),
})
export type Origins = z.infer<typeof origins>

export const getOriginsRoute = route.get('project-write', '/v1/projects/:projectId/change-requests/:crId/origins', {
  name: 'getChangeRequestOrigins',
  summary: 'Show how the changed lines of a file were written',
  description:
    'For each changed line of a file: the tool call that wrote it and the prompt behind the call, from the transcripts of the sessions of the head branch. Lines that no call wrote have the commit that last changed them, and the calls that may have. For text files of at most 1 MiB.',
  errors: [...repositoryErrors, 'ref_missing', 'not_found', 'unprocessable'],
  query: z.object({ path: z.string().min(1).max(4096).describe('The path of a changed file, as the diff names it.') }),
  example: { query: { path: 'src/login.ts' } },
  reply: origins,
})
