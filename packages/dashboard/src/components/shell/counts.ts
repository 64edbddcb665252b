/** Counts for the sidebar, from answers that a page has loaded. The sidebar sends no request of its own. */
import { notifyManager, type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { changeRequestPage, changeRequests } from '../../pages/change-requests/queries.ts'
import { sessionPage, sessions } from '../../pages/sessions/queries.ts'

/** The number of open change requests as a text, such as `12` or `100+`; null while it is unknown. */
export function useOpenCount(projectId: string): string | null {
  return useCount((queries) => {
    const whole = loaded(queries, changeRequests(projectId, 'open').queryKey)
    if (whole !== null) return counted(whole.change_requests.length, whole.change_requests.length >= listedMax)
    const page = loaded(queries, changeRequestPage(projectId, firstOpen).queryKey)
    return page === null ? null : counted(page.data.change_requests.length, page.cursor !== null)
  })
}

export function useRunningCount(projectId: string): string | null {
  return useCount((queries) => {
    const whole = loaded(queries, sessions(projectId).queryKey)
    const found = whole ?? loaded(queries, sessionPage(projectId, null).queryKey)?.data ?? null
    return found === null ? null : counted(found.filter(isRunning).length, false)
  })
}

const listedMax = 100
const firstOpen = { status: 'open', search: '', sort: 'newest', author: null, cursor: null } as const

const isRunning = ({ status }: { status: string }) => status === 'running' || status === 'provisioning'

function counted(count: number, hasMore: boolean): string | null {
  return count === 0 ? null : `${count}${hasMore ? '+' : ''}`
}

/** An answer that an event has outdated, and that no page refetches, counts as unknown. */
function loaded<Key extends QueryKey>(queries: QueryClient, key: Key) {
  const data = queries.getQueryData<unknown, Key>(key) ?? null
  const state = queries.getQueryState(key)
  return state?.isInvalidated === true && state.fetchStatus === 'idle' ? null : data
}

function useCount(read: (queries: QueryClient) => string | null): string | null {
  const queries = useQueryClient()
  const subscribe = useCallback(
    (onChange: () => void) => queries.getQueryCache().subscribe(notifyManager.batchCalls(onChange)),
    [queries],
  )
  return useSyncExternalStore(subscribe, () => read(queries))
}
