import type { QueryClient, QueryKey } from '@tanstack/react-query'

/**
 * For `onSettled`: what the page knows is asked again. A success waits for the answer, so that the page changes once; a
 * refusal is shown at once, for the answer may be long in coming.
 */
export function askAgain(queries: QueryClient, queryKey: QueryKey) {
  return (_reply: unknown, error: Error | null): Promise<void> | void => {
    const asked = queries.invalidateQueries({ queryKey })
    if (error === null) return asked
  }
}
