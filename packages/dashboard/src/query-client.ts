/** What the pages know of the service. */
import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api.ts'

export const fetchingMs = 2_000

/** The server still fetches the repository that this is about. */
export function isFetching(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'repository_fetching'
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A refusal stays a refusal; what was away may come back. A fetch shows its progress until it is over.
      retry: (count, error) =>
        count < 2 && !isFetching(error) && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
      refetchInterval: ({ state }) => (isFetching(state.error) ? fetchingMs : false),
    },
  },
})
