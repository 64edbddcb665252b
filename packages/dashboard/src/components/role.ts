/** Reasons for disabled buttons, by the user's role. The service enforces the role; the page only explains it earlier. */
import { useQuery } from '@tanstack/react-query'
import { me, type Role } from '../pages/account/queries.ts'

/** Why this server changes nothing: it was restored and is not resumed. Null on any other server. */
export function useHeldRefusal(): string | null {
  const { data } = useQuery(me)
  return data?.held === undefined
    ? null
    : 'This server was restored and is read-only until its operator runs svc self-host resume'
}

/** Null while it loads, and in an account that the user does not belong to. */
export function useRole(accountId: string): Role | null {
  const { data } = useQuery(me)
  return data?.accounts.find(({ account_id }) => account_id === accountId)?.role ?? null
}

export function useWriteRefusal(accountId: string): string | null {
  const held = useHeldRefusal()
  return useRole(accountId) === 'viewer' ? 'Viewers have read-only access' : held
}

export function useAdminRefusal(accountId: string): string | null {
  const role = useRole(accountId)
  const held = useHeldRefusal()
  return role === null || role === 'owner' || role === 'admin'
    ? held
    : `Only owners and admins of the account can do this; your role is ${role}`
}
