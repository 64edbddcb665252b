import type { ReactNode } from 'react'
import { Loading } from '../ui/loading.tsx'
import { Failure } from './failure.tsx'

interface Query<T> {
  isPending: boolean
  isError: boolean
  error: unknown
  data: T | undefined
  refetch: () => unknown
}

/** Renders the result of a query, or that it is loading, or its error. */
export function QueryResult<T>({
  of,
  what,
  children,
}: {
  of: Query<T>
  what: string
  children: (data: T) => ReactNode
}) {
  if (of.isPending) return <Loading what={what} />
  if (of.isError && of.data === undefined) return <Failure error={of.error} retry={() => void of.refetch()} />
  return children(of.data as T)
}
