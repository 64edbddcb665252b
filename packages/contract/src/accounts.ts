import { z } from 'zod'
import { ok, route, timestamp, uuid } from './route.ts'

export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

export const user = z.object({ user_id: uuid, name: z.string(), email: z.string().nullable() })
export const account = z.object({
  account_id: uuid,
  name: z.string(),
  plan: z.enum(['free', 'pro', 'team', 'selfhost']),
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

export const createOwnerLinkRoute = route({
  name: 'createOwnerLink',
  summary: 'Make a one-time link that signs its opener in to the dashboard as the caller',
  method: 'POST',
  path: '/v1/accounts/owner-links',
  access: 'account',
  status: 201,
  reply: z.object({ url: z.string(), expires_at: timestamp }),
})

export const signInRoute = route({
  name: 'signInWithOwnerLink',
  summary: 'Exchange the code of an owner link for a dashboard cookie; the code works once',
  method: 'POST',
  path: '/v1/sign-in',
  access: 'public',
  body: z.object({ code: z.string().min(1).max(200) }),
  reply: ok,
})

export const signOutRoute = route({
  name: 'signOut',
  summary: 'End this dashboard session',
  method: 'POST',
  path: '/v1/sign-out',
  access: 'public',
  reply: ok,
})
