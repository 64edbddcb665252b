import type { QueryClient, QueryKey } from '@tanstack/react-query'

/** A request sent before the mutation may answer with the state before it, and the cache would keep that answer as fresh. */
export async function restart(queries: QueryClient, queryKey: QueryKey): Promise<void> {
  await queries.cancelQueries({ queryKey })
  await queries.invalidateQueries({ queryKey })
}

/**
 * For events: refetches what the page shows below this key. `invalidateQueries` leaves the first request of a query running,
 * whose answer may be older than the event, so that query is refetched once it has an answer. It is not cancelled: a stream of
 * events would never let it finish.
 */
export function invalidateNow(queries: QueryClient, queryKey: QueryKey): void {
  const loading = queries
    .getQueryCache()
    .findAll({ queryKey, fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined)
  void queries.invalidateQueries({ queryKey })
  for (const { promise, queryKey } of loading)
    void promise?.catch(shownByItsPage).then(() => queries.invalidateQueries({ queryKey, exact: true }))
}

/** A failed query shows its own error. */
function shownByItsPage(): void {}
