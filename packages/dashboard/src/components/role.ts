/** Reasons for disabled buttons, by the user's role. The service enforces the role; the page only explains it earlier. */
import { useQuery } from '@tanstack/react-query'
import { me, type Role } from '../pages/account/queries.ts'

/** Null while it loads, and in an account that the user does not belong to. */
function useRole(accountId: string): Role | null {
  const { data } = useQuery(me)
  return data?.accounts.find(({ account_id }) => account_id === accountId)?.role ?? null
}

export function useWriteRefusal(accountId: string): string | null {
  return useRole(accountId) === 'viewer' ? 'Viewers have read-only access' : null
}

export function useAdminRefusal(accountId: string): string | null {
  const role = useRole(accountId)
  return role === null || role === 'owner' || role === 'admin'
    ? null
    : `Only owners and admins of the account can do this; your role is ${role}`
}
