import { z } from 'zod'
import { line, named, ok, page, route, timestamp, uuid, wholeList } from '../route.ts'

export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

export const user = named('User', { user_id: uuid, name: z.string(), email: z.string().nullable() })
export const plans = ['free', 'pro', 'team', 'selfhost'] as const
export type Plan = (typeof plans)[number]

export const account = named('Account', {
  account_id: uuid,
  slug: z.string().describe('Built from its name and the start of its id; changes when the account is renamed.'),
  name: z.string(),
  plan: z.enum(plans),
  role: z.enum(roles),
})
export type Account = z.infer<typeof account>

export const getMeRoute = route.get('account', '/v1/accounts/me', {
  name: 'getMe',
  summary: 'Get the user of this token',
  description: 'Also lists every account the user belongs to. `account` is the account they joined first.',
  reply: z.object({
    user_id: uuid,
    email: user.shape.email,
    user,
    account: account.describe('The account the user joined first.'),
    accounts: z.array(account),
    held: z
      .object({ backup_created_at: timestamp })
      .optional()
      .describe('Set while the server is held after a restore from this backup: it answers reads only.'),
  }),
})

export const listAccountsRoute = route.get('account', '/v1/accounts', {
  name: 'listAccounts',
  summary: 'List the accounts of the caller',
  description: 'Oldest first.',
  ...wholeList('accounts', 'account_id'),
  reply: z.object({ accounts: z.array(account) }),
})

export const createAccountRoute = route.post('account', '/v1/accounts', {
  name: 'createAccount',
  summary: 'Create an account',
  description: 'The caller becomes its owner. Only owners of the instance (of its first account) may do this.',
  body: z.object({ name: line(100), plan: z.enum(plans).default('selfhost') }),
  status: 201,
  idempotent: true,
  example: { body: { name: 'Platform team', plan: 'team' } },
  reply: account,
})

export const updateAccountRoute = route.patch('account-admin', '/v1/accounts/:accountId', {
  name: 'updateAccount',
  summary: 'Rename an account or change its plan',
  description: 'Owners and admins may rename an account. Only owners of the instance may change its plan.',
  body: z.object({ name: line(100).optional(), plan: z.enum(plans).optional() }),
  example: { body: { name: 'Platform' } },
  reply: account,
})

export const member = named('Member', { ...user.shape, role: z.enum(roles), created_at: timestamp })
export type Member = z.infer<typeof member>

export const listMembersRoute = route.get('account-read', '/v1/accounts/:accountId/members', {
  name: 'listMembers',
  summary: 'List the members of an account',
  description: 'In the order in which they joined, each with a role.',
  query: page,
  reply: z.array(member),
})

export const addMemberRoute = route.post('account-admin', '/v1/accounts/:accountId/members', {
  name: 'addMember',
  summary: 'Invite a person by email address',
  description:
    'The person joins when they accept, within seven days. The service sends no email: hand over `sign_in.url`. With an API token `sign_in` is null, and the link must be made in a browser.',
  errors: ['conflict', 'confirmation_needed'],
  body: z.object({
    email: z.email().max(254).toLowerCase(),
    name: line(100).optional(),
    role: z.enum(roles).default('member'),
  }),
  status: 201,
  example: { body: { email: 'ada@example.com', role: 'member' } },
  reply: z.object({
    member: member.describe('The member they become by accepting. Until then `user_id` is the id of the invitation.'),
    invitation_id: uuid,
    sign_in: z
      .object({ url: z.string(), expires_at: timestamp })
      .nullable()
      .describe('The link to hand over: the service sends no email. Null with an API token.'),
  }),
})

export const changeRoleRoute = route.patch('account-admin', '/v1/accounts/:accountId/members/:userId', {
  name: 'changeRole',
  summary: 'Change the role of a member',
  description: 'Every token of the member is limited to the new role at once. The last owner cannot be changed.',
  errors: ['conflict', 'confirmation_needed'],
  body: z.object({ role: z.enum(roles) }),
  example: { body: { role: 'viewer' } },
  reply: member,
})

export const removeMemberRoute = route.delete('account-read', '/v1/accounts/:accountId/members/:userId', {
  name: 'removeMember',
  summary: 'Remove a member, or leave an account',
  description: "The member's tokens no longer reach anything in the account. The last owner cannot be removed.",
  errors: ['conflict'],
  reply: ok,
})

export const auditEvent = named('AuditEvent', {
  event_id: z.number().int(),
  at: timestamp,
  project_id: uuid.nullable(),
  actor_kind: z.string(),
  actor_user_id: uuid.nullable(),
  token_id: uuid.nullable(),
  session_id: uuid.nullable(),
  request_id: z.string().nullable(),
  address: z.string().nullable(),
  actor_name: z
    .string()
    .nullable()
    .optional()
    .describe('The email address or the name of the user, also of one who left the account. Older servers omit it.'),
  action: z.string(),
  object_type: z.string(),
  object_id: z.string(),
  object_name: z
    .string()
    .nullable()
    .optional()
    .describe(
      'The title of a change request, the name of a session or the host of a webhook as it is now. Null: deleted, or of another type.',
    ),
  object_number: z.number().int().nullable().optional().describe('The number of a change request.'),
  session_name: z
    .string()
    .nullable()
    .optional()
    .describe('The name of the session whose agent did it. Null: a deleted one, or none.'),
  /** The changed fields of the object, without secrets. */
  before: z.unknown(),
  after: z.unknown(),
})
export type AuditRow = z.infer<typeof auditEvent>

export const listAuditRoute = route.get('account-admin', '/v1/accounts/:accountId/audit', {
  name: 'listAudit',
  summary: 'List who changed what in an account',
  description:
    'Newest first. Filter by project, action or user. `action` matches exactly, or by its noun: `change_request`.',
  query: page.extend({
    project_id: z.string().min(1).max(100).optional().describe('The id of the project, or its slug in the account.'),
    action: z.string().max(100).optional().describe('An action, or the noun of several: `change_request`.'),
    actor_user_id: uuid.optional(),
  }),
  example: { query: { action: 'change_request', limit: '50' } },
  reply: z.array(auditEvent),
})

export const createOwnerLinkRoute = route.post('account', '/v1/accounts/owner-links', {
  name: 'createOwnerLink',
  summary: 'Create a one-time sign-in link for the caller',
  description:
    'Needs a browser session that gave its password or used single sign-on within the last ten minutes. An API token gets `forbidden`.',
  errors: ['confirmation_needed'],
  status: 201,
  reply: z.object({ url: z.string(), expires_at: timestamp }),
})

export const signInRoute = route.post('public', '/v1/sign-in', {
  name: 'signInWithOwnerLink',
  summary: 'Sign in with the code of an owner link or an invitation',
  description: 'Sets the dashboard cookie. The code works once. The code of an invitation also creates the user.',
  errors: ['unauthenticated', 'limit_reached', 'conflict', 'not_found'],
  body: z.object({ code: z.string().min(1).max(200) }),
  reply: ok,
})

export const signInMethodsRoute = route.get('public', '/v1/sign-in', {
  name: 'getSignInMethods',
  summary: 'List the ways to sign in to the dashboard',
  description: '`oidc` is the name of the single sign-on provider, or null. A browser starts it at `/sign-in/oidc`.',
  reply: z.object({ password: z.literal(true), oidc: z.string().nullable() }),
})

export const signOutRoute = route.post('public', '/v1/sign-out', {
  name: 'signOut',
  summary: 'End the dashboard session of this browser',
  description: 'Without a dashboard session, nothing happens.',
  errors: ['unauthenticated'],
  reply: ok,
})

/** People type their address in any case, and mail servers ignore it. */
const email = z.string().trim().toLowerCase().max(254).pipe(z.email())
const password = z.string().min(10, 'must have 10 characters or more').max(200)

export const signInWithPasswordRoute = route.post('public', '/v1/sign-in/password', {
  name: 'signInWithPassword',
  summary: 'Sign in with email address and password',
  description:
    'Sets the dashboard cookie. Failed attempts are limited by email address and by network address: `limit_reached` (429).',
  errors: ['unauthenticated', 'limit_reached'],
  body: z.object({ email, password: z.string().min(1).max(200) }),
  example: { body: { email: 'grace@example.com', password: 'correct horse battery staple' } },
  reply: ok,
})

export const getPasswordRoute = route.get('account', '/v1/accounts/password', {
  name: 'getPassword',
  summary: 'Get whether the caller can sign in with a password',
  description: 'Also returns the email address that goes with it.',
  reply: z.object({ email: z.string().nullable(), is_set: z.boolean() }),
})

export const setPasswordRoute = route.post('account', '/v1/accounts/password', {
  name: 'setPassword',
  summary: 'Set the email address and password of the caller',
  description:
    "Only from the dashboard. Ends the caller's other dashboard sessions. Needs `current_password` when one is set, except shortly after signing in with an owner link.",
  errors: ['conflict', 'limit_reached', 'confirmation_needed'],
  body: z.object({ email, password, current_password: z.string().max(200).optional() }),
  example: { body: { email: 'grace@example.com', password: 'correct horse battery staple' } },
  reply: ok,
})

export const confirmSignInRoute = route.post('account', '/v1/accounts/confirm', {
  name: 'confirmSignIn',
  summary: 'Confirm the password in this browser',
  description: 'Account changes ask for it when the last sign-in is more than ten minutes old: `confirmation_needed`.',
  errors: ['limit_reached', 'conflict', 'confirmation_needed'],
  body: z.object({ password: z.string().min(1).max(200) }),
  example: { body: { password: 'correct horse battery staple' } },
  reply: ok,
})

export const signInWay = z.enum(['link', 'password', 'oidc'])
export type SignInWay = z.infer<typeof signInWay>

export const dashboardSession = named('DashboardSession', {
  dashboard_session_id: uuid,
  began_by: signInWay,
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
  expires_at: timestamp,
  current: z.boolean().describe('Whether this is the session that made the request.'),
})
export type DashboardSession = z.infer<typeof dashboardSession>

export const listDashboardSessionsRoute = route.get('account', '/v1/accounts/dashboard-sessions', {
  name: 'listDashboardSessions',
  summary: 'List the browser sessions of the caller',
  description: 'Where the caller is signed in to the dashboard; `current` marks the session of this request.',
  ...wholeList(null, 'dashboard_session_id'),
  reply: z.array(dashboardSession),
})

export const endDashboardSessionRoute = route.delete('account', '/v1/accounts/dashboard-sessions/:dashboardSessionId', {
  name: 'endDashboardSession',
  summary: 'Sign a browser out of the dashboard',
  description: 'The next request of that browser fails.',
  reply: ok,
})
