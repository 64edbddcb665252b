import { z } from 'zod'
import { line, ok, page, pageOfWhole, route, timestamp, uuid } from './route.ts'

export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

export const user = z.object({ user_id: uuid, name: z.string(), email: z.string().nullable() })
export const plans = ['free', 'pro', 'team', 'selfhost'] as const
export type Plan = (typeof plans)[number]

export const account = z.object({
  account_id: uuid,
  name: z.string(),
  plan: z.enum(plans),
  role: z.enum(roles),
})
export type Account = z.infer<typeof account>

export const getMeRoute = route({
  name: 'getMe',
  summary: 'The user of this token and the accounts they belong to',
  method: 'GET',
  path: '/v1/accounts/me',
  access: 'account',
  reply: z.object({ user, account, accounts: z.array(account) }),
})

export const listAccountsRoute = route({
  name: 'listAccounts',
  summary: 'The accounts the caller belongs to, the oldest first',
  method: 'GET',
  path: '/v1/accounts',
  access: 'account',
  query: pageOfWhole,
  pages: { list: 'accounts', by: 'account_id' },
  reply: z.object({ accounts: z.array(account) }),
})

export const createAccountRoute = route({
  name: 'createAccount',
  summary: 'Make another account, whose owner the caller becomes; for owners of the first account',
  method: 'POST',
  path: '/v1/accounts',
  access: 'account',
  body: z.object({ name: line(100), plan: z.enum(plans).default('selfhost') }),
  status: 201,
  idempotent: true,
  reply: account,
})

export const updateAccountRoute = route({
  name: 'updateAccount',
  summary: 'Rename an account; its plan is changed by owners of the first account',
  method: 'PATCH',
  path: '/v1/accounts/:accountId',
  access: 'account-admin',
  body: z.object({ name: line(100).optional(), plan: z.enum(plans).optional() }),
  reply: account,
})

export const member = user.extend({ role: z.enum(roles), created_at: timestamp })
export type Member = z.infer<typeof member>

export const listMembersRoute = route({
  name: 'listMembers',
  summary: 'The members of an account with their roles, in the order in which they joined',
  method: 'GET',
  path: '/v1/accounts/:accountId/members',
  access: 'account-read',
  query: page,
  reply: z.array(member),
})

export const addMemberRoute = route({
  name: 'addMember',
  summary: 'Invite a person by e-mail address; they join when they accept, within seven days',
  method: 'POST',
  path: '/v1/accounts/:accountId/members',
  access: 'account-admin',
  body: z.object({
    email: z.email().max(254).toLowerCase(),
    name: line(100).optional(),
    role: z.enum(roles).default('member'),
  }),
  status: 201,
  reply: z.object({
    /** The member they become by signing up with the link; `user_id` is the invitation's id until then. */
    member,
    invitation_id: uuid,
    /** The inviter hands it over: the service sends no mail. Null with an API token: a browser makes the link. */
    sign_in: z.object({ url: z.string(), expires_at: timestamp }).nullable(),
  }),
})

export const changeRoleRoute = route({
  name: 'changeRole',
  summary: 'Change the role of a member; every token of theirs is cut to it at once',
  method: 'PATCH',
  path: '/v1/accounts/:accountId/members/:userId',
  access: 'account-admin',
  body: z.object({ role: z.enum(roles) }),
  reply: member,
})

export const removeMemberRoute = route({
  name: 'removeMember',
  summary: 'Remove a member, or leave: their tokens reach nothing of the account any more',
  method: 'DELETE',
  path: '/v1/accounts/:accountId/members/:userId',
  access: 'account-read',
  reply: ok,
})

export const auditEvent = z.object({
  event_id: z.number().int(),
  at: timestamp,
  project_id: uuid.nullable(),
  actor_kind: z.string(),
  actor_user_id: uuid.nullable(),
  token_id: uuid.nullable(),
  session_id: uuid.nullable(),
  request_id: z.string().nullable(),
  address: z.string().nullable(),
  action: z.string(),
  object_type: z.string(),
  object_id: z.string(),
  /** What changed of the object, each as far as it may be told. */
  before: z.unknown(),
  after: z.unknown(),
})
export type AuditRow = z.infer<typeof auditEvent>

export const listAuditRoute = route({
  name: 'listAudit',
  summary: 'Who changed what in an account, newest first',
  method: 'GET',
  path: '/v1/accounts/:accountId/audit',
  access: 'account-admin',
  query: page.extend({
    project_id: uuid.optional(),
    /** Exactly, or all of a noun: `change_request`. */
    action: z.string().max(100).optional(),
    actor_user_id: uuid.optional(),
  }),
  reply: z.array(auditEvent),
})

export const createOwnerLinkRoute = route({
  name: 'createOwnerLink',
  summary:
    'Make a one-time link that signs its opener in as the caller, in a browser that gave its password or came by single sign-on within ten minutes; never with an API token',
  method: 'POST',
  path: '/v1/accounts/owner-links',
  access: 'account',
  status: 201,
  reply: z.object({ url: z.string(), expires_at: timestamp }),
})

export const signInRoute = route({
  name: 'signInWithOwnerLink',
  summary:
    'Exchange the code of an owner link or invitation for a dashboard cookie; the code works once. An invitation makes a new user',
  method: 'POST',
  path: '/v1/sign-in',
  access: 'public',
  body: z.object({ code: z.string().min(1).max(200) }),
  reply: ok,
})

export const signInMethodsRoute = route({
  name: 'getSignInMethods',
  summary: 'The ways to sign in to the dashboard besides an owner link',
  method: 'GET',
  path: '/v1/sign-in',
  access: 'public',
  /** `oidc` is what its operator calls the provider; a browser goes to /sign-in/oidc for it. */
  reply: z.object({ password: z.literal(true), oidc: z.string().nullable() }),
})

export const signOutRoute = route({
  name: 'signOut',
  summary: 'End this dashboard session',
  method: 'POST',
  path: '/v1/sign-out',
  access: 'public',
  reply: ok,
})

/** Addresses differ by more than case nowhere that matters, and people type theirs in any. */
const email = z.string().trim().toLowerCase().max(254).pipe(z.email())
const password = z.string().min(10, 'has to have 10 characters or more').max(200)

export const signInWithPasswordRoute = route({
  name: 'signInWithPassword',
  summary: 'Sign in to the dashboard with e-mail and password; wrong ones are limited per e-mail and address',
  method: 'POST',
  path: '/v1/sign-in/password',
  access: 'public',
  body: z.object({ email, password: z.string().min(1).max(200) }),
  reply: ok,
})

export const getPasswordRoute = route({
  name: 'getPassword',
  summary: 'Whether the caller can sign in with a password, and by which e-mail address',
  method: 'GET',
  path: '/v1/accounts/password',
  access: 'account',
  reply: z.object({ email: z.string().nullable(), is_set: z.boolean() }),
})

export const setPasswordRoute = route({
  name: 'setPassword',
  summary:
    'Set e-mail and password of the caller, from the dashboard only; ends their other dashboard sessions. A password that is set is asked for, except soon after an owner link',
  method: 'POST',
  path: '/v1/accounts/password',
  access: 'account',
  body: z.object({ email, password, current_password: z.string().max(200).optional() }),
  reply: ok,
})

export const confirmSignInRoute = route({
  name: 'confirmSignIn',
  summary: 'Give the password once more in this browser: account changes ask for it after ten minutes',
  method: 'POST',
  path: '/v1/accounts/confirm',
  access: 'account',
  body: z.object({ password: z.string().min(1).max(200) }),
  reply: ok,
})

/** How somebody signed in to the dashboard. */
export const signInWay = z.enum(['link', 'password', 'oidc'])
export type SignInWay = z.infer<typeof signInWay>

export const dashboardSession = z.object({
  dashboard_session_id: uuid,
  began_by: signInWay,
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
  expires_at: timestamp,
  /** The one that asks. */
  current: z.boolean(),
})
export type DashboardSession = z.infer<typeof dashboardSession>

export const listDashboardSessionsRoute = route({
  name: 'listDashboardSessions',
  summary: 'Where the caller is signed in to the dashboard',
  method: 'GET',
  path: '/v1/accounts/dashboard-sessions',
  access: 'account',
  query: pageOfWhole,
  pages: { list: null, by: 'dashboard_session_id' },
  reply: z.array(dashboardSession),
})

export const endDashboardSessionRoute = route({
  name: 'endDashboardSession',
  summary: 'Sign a browser out of the dashboard; its next request fails',
  method: 'DELETE',
  path: '/v1/accounts/dashboard-sessions/:dashboardSessionId',
  access: 'account',
  reply: ok,
})
