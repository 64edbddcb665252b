/** Finds change requests and sessions by what a person remembers of them. */
import { z } from 'zod'
import { named, route, uuid } from '../route.ts'
import { changeRequestStatuses } from '../schemas/change-request-moves.ts'
import { sessionStatuses } from './sessions.ts'

/** The most results of each kind. */
export const foundMax = 8

const project = z.object({ project_id: uuid, slug: z.string(), name: z.string() })

export const foundChangeRequest = named('FoundChangeRequest', {
  cr_id: uuid,
  number: z.number().int(),
  title: z.string(),
  status: z.enum(changeRequestStatuses),
  project,
})
export type FoundChangeRequest = z.infer<typeof foundChangeRequest>

export const foundSession = named('FoundSession', {
  session_id: uuid,
  name: z.string(),
  status: z.enum(sessionStatuses),
  project,
})
export type FoundSession = z.infer<typeof foundSession>

export const findWorkRoute = route.get('user', '/v1/find', {
  name: 'findWork',
  summary: 'Find change requests and sessions in all projects of the caller',
  description: `Every word of the text has to be in the title or the head branch of a change request, or in the name of a session; \`#12\` and \`12\` also find a change request by its number. At most ${foundMax} of each: those of \`project_id\` first, then what is open or live, then the newest. A viewer finds sessions only.`,
  query: z.object({
    text: z.string().trim().min(1).max(200),
    project_id: z.string().optional().describe('The project whose results come first.'),
  }),
  reply: z.object({ change_requests: z.array(foundChangeRequest), sessions: z.array(foundSession) }),
})
