import { z } from 'zod'
import { named, ok, route, timestamp, wholeList } from '../route.ts'

/** A credential that was made in the user's name: a token, a link, an invitation. */
export const notice = named('Notice', {
  notice_id: z.number().int(),
  at: timestamp,
  action: z.string().describe('The action in the audit log, such as `token.create`.'),
  name: z.string().nullable().describe('The name of the token, or the email address that was invited.'),
  address: z.string().nullable(),
  token_name: z
    .string()
    .nullable()
    .describe('The name of the token that did it; null for a browser, or for the machine of the server.'),
})
export type Notice = z.infer<typeof notice>

export const listNoticesRoute = route.get('account', '/v1/accounts/notices', {
  name: 'listNotices',
  summary: 'List the notices of the caller',
  description:
    "Tokens, links and invitations that were made in the caller's name since the last dismissal, newest first.",
  ...wholeList('notices', 'notice_id'),
  reply: z.object({ notices: z.array(notice) }),
})

export const dismissNoticesRoute = route.post('account', '/v1/accounts/notices/dismiss', {
  name: 'dismissNotices',
  summary: 'Dismiss notices up to one',
  description: 'Only in a browser: a token cannot hide what it did.',
  body: z.object({ up_to: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
  example: { body: { up_to: 12 } },
  reply: ok,
})
