/** Finds change requests and sessions by name, across the projects of the caller. */
import { z } from 'zod'
import { changeRequestStatuses } from '../schemas/change-request-moves.ts'
import { named, route, uuid } from '../route.ts'
import { sessionStatuses } from './sessions.ts'

const textMax = 256
/** The most results of each kind. */
export const foundMax = 8
/** The most change requests, and the most sessions, that one search examines. */
export const examinedMax = 20_000

const project = z.object({ project_id: uuid, slug: z.string(), name: z.string() })

export const foundChangeRequest = named('FoundChangeRequest', {
  cr_id: uuid,
  number: z.number().int(),
  title: z.string(),
  head_ref: z.string(),
  base_ref: z.string().optional().describe('Left out when it is the default branch of the project.'),
  status: z.enum(changeRequestStatuses),
  project,
})

export const foundSession = named('FoundSession', {
  session_id: uuid,
  name: z.string(),
  agent_name: z.string(),
  status: z.enum(sessionStatuses),
  project,
})

export const searchEverythingRoute = route.get('user', '/v1/find', {
  name: 'searchEverything',
  summary: 'Find change requests and sessions by name',
  description: `Searches the projects of the accounts of the caller, for a list that opens while they type: at most ${foundMax} results of each kind. A change request has every word of the text in its title or its head branch, or the text is its number (\`12\` or \`#12\`); that one comes first. A session has every word in its name. Then come those of \`project_id\`, then what is open or live, then the newest. By words, the search examines the newest ${examinedMax.toLocaleString('en-US')} of each kind, those of \`project_id\` first. A viewer finds sessions only.`,
  query: z.object({
    text: z
      .string()
      .trim()
      .min(1)
      .max(textMax)
      .refine((text) => !text.includes('\0'), 'contains a NUL character'),
    project_id: uuid.optional().describe('The project whose results come first.'),
  }),
  example: { query: { text: 'retry webhooks' } },
  reply: z.object({
    change_requests: z.array(foundChangeRequest),
    sessions: z.array(foundSession),
  }),
})
export type Found = z.infer<typeof searchEverythingRoute.reply>
