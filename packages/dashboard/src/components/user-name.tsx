import { useQuery } from '@tanstack/react-query'
import { members } from '../pages/account/queries.ts'

/** The name of a member of the account. The name of a former member is unknown. */
export function UserName({ accountId, userId }: { accountId: string; userId: string | null }) {
  const { data, isLoading } = useQuery({ ...members(accountId), enabled: userId !== null, staleTime: 60_000 })
  const found = data?.find(({ user_id }) => user_id === userId)
  return <span className="text-text">{isLoading ? '…' : (found?.name ?? 'A former member')}</span>
}
