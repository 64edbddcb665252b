import { z } from 'zod'
import { roles } from './accounts.ts'
import { named, ok, page, route, timestamp, uuid } from '../route.ts'

export const invitation = named('Invitation', {
  invitation_id: uuid,
  email: z.string(),
  name: z.string(),
  role: z.enum(roles),
  invited_by: z.object({ user_id: uuid, name: z.string() }).nullable(),
  created_at: timestamp,
  expires_at: timestamp,
  has_link: z.boolean().describe('Whether the invitation has a link. An API token creates none.'),
})
export type Invitation = z.infer<typeof invitation>

/** The invitation as the invited person sees it. */
export const receivedInvitation = named('ReceivedInvitation', {
  invitation_id: uuid,
  account_name: z.string(),
  invited_by: z.string().nullable(),
  email: z.string(),
  role: z.enum(roles),
  expires_at: timestamp,
})

export const listInvitationsRoute = route.get('account-admin', '/v1/accounts/:accountId/invitations', {
  name: 'listInvitations',
  summary: 'List the pending invitations of an account',
  description: 'Newest first.',
  query: page,
  reply: z.object({ invitations: z.array(invitation) }),
})

export const linkInvitationRoute = route.post(
  'account-admin',
  '/v1/accounts/:accountId/invitations/:invitationId/link',
  {
    name: 'linkInvitation',
    summary: 'Create the one-time link of an invitation',
    description: 'Needs a browser that signed in within the last ten minutes. An earlier link stops working.',
    errors: ['confirmation_needed', 'conflict'],
    reply: z.object({ url: z.string(), expires_at: timestamp }),
  },
)

export const revokeInvitationRoute = route.delete(
  'account-admin',
  '/v1/accounts/:accountId/invitations/:invitationId',
  {
    name: 'revokeInvitation',
    summary: 'Revoke a pending invitation',
    description: 'Its link stops working.',
    reply: ok,
  },
)

export const readInvitationRoute = route.post('public', '/v1/invitations/read', {
  name: 'readInvitation',
  summary: 'Read the invitation behind a code',
  description: 'Returns the account, the role and the inviter. The code is not used up.',
  errors: ['not_found', 'limit_reached', 'unauthenticated'],
  body: z.object({ code: z.string().min(1).max(200) }),
  reply: receivedInvitation,
})

export const listReceivedInvitationsRoute = route.get('user', '/v1/invitations', {
  name: 'listReceivedInvitations',
  summary: 'List the invitations the caller received',
  description: 'Only invitations to the email address that the single sign-on provider verified.',
  query: page,
  reply: z.object({ invitations: z.array(receivedInvitation) }),
})

export const acceptInvitationRoute = route.post('user', '/v1/invitations/accept', {
  name: 'acceptInvitation',
  summary: 'Accept an invitation',
  description:
    'The signed-in person accepts in a browser: by the code of the link, or by id when the email address is verified.',
  errors: ['not_found', 'conflict', 'confirmation_needed', 'limit_reached'],
  body: z.union([z.object({ code: z.string().min(1).max(200) }), z.object({ invitation_id: uuid })]),
  reply: z.object({ account_id: uuid, role: z.enum(roles) }),
})
