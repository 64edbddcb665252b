/** The cache of what the pages have read from the service. */
import { MutationCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from '../api.ts'

/** The poll while the server still fetches a repository. */
export const fetchingMs = 2_000
/** The poll beside events (project-events.tsx): it covers what no event reports, and a stream that is down. */
export const liveMs = 30_000

/** The server still fetches the repository. */
export function isFetching(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'repository_fetching'
}

/** A restored server refuses every change until its operator resumes it. */
export function isHeld(error: unknown): boolean {
  return error instanceof ApiError && error.detail.held === true
}

/** Its background jobs stand still, so there is nothing to wait for. */
export const isServerHeld = () => queries.getQueryData<{ held?: object }>(['me'])?.held !== undefined

export const queries = new QueryClient({
  mutationCache: new MutationCache({
    // The server was restored after the page loaded. Then the page learns why from `me`, and disables what it refuses.
    onError: (error) => void (isHeld(error) && queries.invalidateQueries({ queryKey: ['me'] })),
  }),
  defaultOptions: {
    // Offline, a request fails at once with its message. It would wait silently, and a merge would run minutes later.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      // Off by default in this mode.
      refetchOnReconnect: true,
      staleTime: 2_000,
      // A refusal is final, but an unavailable server may recover. While the server fetches a repository, the page polls instead.
      retry: (count, error) =>
        count < 2 && !isFetching(error) && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
      refetchInterval: ({ state }) => (isFetching(state.error) ? fetchingMs : false),
    },
  },
})
