import type { operations } from '@svc/contract/api'
import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'
import { withChosenAccount } from '../../browser/account-choice.ts'
import { read } from '../../cache/read.ts'
import { requests } from '../../prefetch/requests.ts'

export type Token = Reply<'/v1/accounts/tokens'>[number]
export type Member = Reply<'/v1/accounts/{accountId}/members'>[number]
export type Role = Member['role']
export type SecurityNotice = Reply<'/v1/accounts/notices'>['notices'][number]
export type ReceivedInvitation = operations['readInvitation']['responses'][200]['content']['application/json']

/** No event reports that a restored server was resumed. */
const heldMs = 15_000

export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => withChosenAccount(await get(...requests.me(), signal)),
  staleTime: 60_000,
  refetchInterval: ({ state }) => (state.data?.held === undefined ? false : heldMs),
})

const all = { limit: 1000 }

export const signInMethods = read(['sign-in-methods'], '/v1/sign-in', {})
export const password = read(['password'], '/v1/accounts/password', {})
export const dashboardSessions = read(['dashboard-sessions'], '/v1/accounts/dashboard-sessions', {})
export const userTokens = read(['tokens'], '/v1/accounts/tokens', { query: all })
export const receivedInvitations = read(['received-invitations'], '/v1/invitations', { query: all })

export const members = (accountId: string) =>
  read(['account', accountId, 'members'], '/v1/accounts/{accountId}/members', { path: { accountId }, query: all })

export const invitations = (accountId: string) =>
  read(['account', accountId, 'invitations'], '/v1/accounts/{accountId}/invitations', {
    path: { accountId },
    query: all,
  })

/** Read once per visit: a later notice appears at the next visit. */
export const notices = read(['notices'], '/v1/accounts/notices', {}, { staleTime: Infinity })
