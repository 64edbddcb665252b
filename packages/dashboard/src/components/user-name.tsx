import { useQuery } from '@tanstack/react-query'
import { members } from '../queries.ts'

/** Of a member of the account; of one who is none any more, no name is known here. */
export function UserName({ accountId, userId }: { accountId: string; userId: string | null }) {
  const { data, isLoading } = useQuery({ ...members(accountId), enabled: userId !== null, staleTime: 60_000 })
  const found = data?.find(({ user_id }) => user_id === userId)
  return <span className="text-text">{isLoading ? '…' : (found?.name ?? 'somebody')}</span>
}
