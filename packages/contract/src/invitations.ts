import { z } from 'zod'
import { roles } from './accounts.ts'
import { ok, page, route, timestamp, uuid } from './route.ts'

export const invitation = z.object({
  invitation_id: uuid,
  email: z.string(),
  name: z.string(),
  role: z.enum(roles),
  invited_by: z.object({ user_id: uuid, name: z.string() }).nullable(),
  created_at: timestamp,
  expires_at: timestamp,
  /** Whether its link was made: an API token makes none. */
  has_link: z.boolean(),
})
export type Invitation = z.infer<typeof invitation>

/** The invitation as the invited person sees it. */
export const receivedInvitation = z.object({
  invitation_id: uuid,
  account_name: z.string(),
  invited_by: z.string().nullable(),
  email: z.string(),
  role: z.enum(roles),
  expires_at: timestamp,
})

export const listInvitationsRoute = route({
  name: 'listInvitations',
  summary: 'The pending invitations of an account, the newest first',
  method: 'GET',
  path: '/v1/accounts/:accountId/invitations',
  access: 'account-admin',
  query: page,
  reply: z.object({ invitations: z.array(invitation) }),
})

export const linkInvitationRoute = route({
  name: 'linkInvitation',
  summary:
    'Make the one-time link of an invitation, in a browser that signed in within ten minutes; an earlier link ends',
  method: 'POST',
  path: '/v1/accounts/:accountId/invitations/:invitationId/link',
  access: 'account-admin',
  reply: z.object({ url: z.string(), expires_at: timestamp }),
})

export const revokeInvitationRoute = route({
  name: 'revokeInvitation',
  summary: 'Revoke a pending invitation; its link ends',
  method: 'DELETE',
  path: '/v1/accounts/:accountId/invitations/:invitationId',
  access: 'account-admin',
  reply: ok,
})

export const readInvitationRoute = route({
  name: 'readInvitation',
  summary: 'The account, role and inviter behind the code of an invitation link; the code is not spent',
  method: 'POST',
  path: '/v1/invitations/read',
  access: 'public',
  body: z.object({ code: z.string().min(1).max(200) }),
  reply: receivedInvitation,
})

export const listReceivedInvitationsRoute = route({
  name: 'listReceivedInvitations',
  summary: 'Pending invitations of the address that the sign-in provider verified for the caller',
  method: 'GET',
  path: '/v1/invitations',
  access: 'user',
  query: page,
  reply: z.object({ invitations: z.array(receivedInvitation) }),
})

export const acceptInvitationRoute = route({
  name: 'acceptInvitation',
  summary:
    'Accept an invitation as the signed-in person, in a browser: by the code of its link, or by id for a verified address',
  method: 'POST',
  path: '/v1/invitations/accept',
  access: 'user',
  body: z.union([z.object({ code: z.string().min(1).max(200) }), z.object({ invitation_id: uuid })]),
  reply: z.object({ account_id: uuid, role: z.enum(roles) }),
})
