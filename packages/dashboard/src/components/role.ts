/** What the role of the person who looks refuses them, in words for a button that is off. The service decides; this only says it before it is asked. */
import { useQuery } from '@tanstack/react-query'
import { me, type Role } from '../queries.ts'

/** Null while nobody knows, and in an account one is not in. */
function useRole(accountId: string): Role | null {
  const { data } = useQuery(me)
  return data?.accounts.find(({ account_id }) => account_id === accountId)?.role ?? null
}

export function useWriteRefusal(accountId: string): string | null {
  return useRole(accountId) === 'viewer' ? 'Your role is viewer, which may look and not write' : null
}

export function useAdminRefusal(accountId: string): string | null {
  const role = useRole(accountId)
  return role === null || role === 'owner' || role === 'admin'
    ? null
    : `Your role is ${role}; this is for owners and admins of the account`
}
