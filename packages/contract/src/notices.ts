import { z } from 'zod'
import { ok, pageOfWhole, route, timestamp } from './route.ts'

/** Something that was done in the person's name and may outlast them: a token, a link, an invitation. */
export const notice = z.object({
  notice_id: z.number().int(),
  at: timestamp,
  /** As in the audit: `token.create`. */
  action: z.string(),
  /** The name of the token, or the address that was invited. */
  name: z.string().nullable(),
  address: z.string().nullable(),
  /** The token that did it; null for a browser or the server's own machine. */
  token_name: z.string().nullable(),
})
export type Notice = z.infer<typeof notice>

export const listNoticesRoute = route({
  name: 'listNotices',
  summary: 'Credentials and invitations made in your name since you last dismissed these notices, the newest first',
  method: 'GET',
  path: '/v1/accounts/notices',
  access: 'account',
  query: pageOfWhole,
  pages: { list: 'notices', by: 'notice_id' },
  reply: z.object({ notices: z.array(notice) }),
})

export const dismissNoticesRoute = route({
  name: 'dismissNotices',
  summary: 'Dismiss notices up to one, in a browser; a token cannot hide what it did',
  method: 'POST',
  path: '/v1/accounts/notices/dismiss',
  access: 'account',
  body: z.object({ up_to: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
  reply: ok,
})
