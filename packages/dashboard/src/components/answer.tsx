import type { ReactNode } from 'react'
import { Loading } from '../ui/loading.tsx'
import { Failure } from './failure.tsx'

interface Asked<T> {
  isPending: boolean
  isError: boolean
  error: unknown
  data: T | undefined
  refetch: () => unknown
}

/** What was asked for once it is there; until then that it comes, or why it does not. */
export function Answer<T>({ of, what, children }: { of: Asked<T>; what: string; children: (data: T) => ReactNode }) {
  if (of.isPending) return <Loading what={what} />
  if (of.isError && of.data === undefined) return <Failure error={of.error} retry={() => void of.refetch()} />
  return children(of.data as T)
}
