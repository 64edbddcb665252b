import { useQuery } from '@tanstack/react-query'
import { me, members } from '../pages/account/queries.ts'

/** The name of a member of the account. The name of a former member is unknown. */
export function UserName({ accountId, userId }: { accountId: string; userId: string | null }) {
  const { data, isLoading } = useQuery({ ...members(accountId), enabled: userId !== null, staleTime: 60_000 })
  const { data: own } = useQuery(me)
  // The reader's own name is there before the list of members.
  const found = data?.find(({ user_id }) => user_id === userId) ?? (own?.user.user_id === userId ? own.user : undefined)
  return <span className="text-text">{found?.name ?? (isLoading ? '…' : 'A former member')}</span>
}
