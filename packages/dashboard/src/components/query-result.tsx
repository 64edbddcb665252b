import { type QueryKey, useQuery, type UseQueryOptions } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loading } from '../ui/loading.tsx'
import { Failure } from './failure.tsx'

interface Result<T> {
  isPending: boolean
  isError: boolean
  error: unknown
  data: T | undefined
  refetch: () => unknown
}

interface Shown<T> {
  what: string
  children: (data: T) => ReactNode
}

/** Renders the result of a query, or that it is loading, or its error. */
export function QueryResult<T>({ of, what, children }: Shown<T> & { of: Result<T> }) {
  if (of.isPending) return <Loading what={what} />
  if (of.isError && of.data === undefined) return <Failure error={of.error} retry={() => void of.refetch()} />
  return children(of.data as T)
}

/** Reads a query and renders its result. */
export function Read<Answer, T, Key extends QueryKey>({
  query,
  ...shown
}: Shown<T> & { query: UseQueryOptions<Answer, Error, T, Key> }) {
  return <QueryResult of={useQuery(query)} {...shown} />
}
