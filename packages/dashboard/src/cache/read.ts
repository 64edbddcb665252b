import { type QueryKey, queryOptions, type UndefinedInitialDataOptions } from '@tanstack/react-query'
import { get, type Reply } from '../api.ts'
import type { GetPath, Params } from '../prefetch/requests.ts'
import { liveMs } from './query-client.ts'

export function read<P extends GetPath, Data = Reply<P>>(
  queryKey: QueryKey,
  path: P,
  params: Params<P>,
  options: Omit<UndefinedInitialDataOptions<Reply<P>, Error, Data>, 'queryKey' | 'queryFn'> = {},
) {
  return queryOptions({ ...options, queryKey, queryFn: ({ signal }) => get(path, params, signal) })
}

export const live = { refetchInterval: liveMs }
