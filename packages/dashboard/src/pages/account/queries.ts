import type { operations } from '@svc/contract/api'
import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'
import { withChosenAccount } from '../../browser/account-choice.ts'
import { requests } from '../../prefetch/requests.ts'

export type Token = Reply<'/v1/accounts/tokens'>[number]
export type Member = Reply<'/v1/accounts/{accountId}/members'>[number]
export type Role = Member['role']
export type SecurityNotice = Reply<'/v1/accounts/notices'>['notices'][number]
export type ReceivedInvitation = operations['readInvitation']['responses'][200]['content']['application/json']

export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => withChosenAccount(await get(...requests.me(), signal)),
  staleTime: 60_000,
})

export const signInMethods = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => get('/v1/sign-in', {}, signal),
})

export const password = queryOptions({
  queryKey: ['password'],
  queryFn: ({ signal }) => get('/v1/accounts/password', {}, signal),
})

export const dashboardSessions = queryOptions({
  queryKey: ['dashboard-sessions'],
  queryFn: ({ signal }) => get('/v1/accounts/dashboard-sessions', {}, signal),
})

export const userTokens = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => get('/v1/accounts/tokens', { query: { limit: 1000 } }, signal),
})

export const members = (accountId: string) =>
  queryOptions({
    queryKey: ['account', accountId, 'members'],
    queryFn: ({ signal }) =>
      get('/v1/accounts/{accountId}/members', { path: { accountId }, query: { limit: 1000 } }, signal),
  })

export const invitations = (accountId: string) =>
  queryOptions({
    queryKey: ['account', accountId, 'invitations'],
    queryFn: ({ signal }) =>
      get('/v1/accounts/{accountId}/invitations', { path: { accountId }, query: { limit: 1000 } }, signal),
  })

export const receivedInvitations = queryOptions({
  queryKey: ['received-invitations'],
  queryFn: ({ signal }) => get('/v1/invitations', { query: { limit: 1000 } }, signal),
})

/** Read once per visit: a later notice appears at the next visit. */
export const notices = queryOptions({
  queryKey: ['notices'],
  queryFn: ({ signal }) => get('/v1/accounts/notices', {}, signal),
  staleTime: Infinity,
})
