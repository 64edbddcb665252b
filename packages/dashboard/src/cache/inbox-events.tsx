/** Keeps the inbox current by one stream for all projects. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { followEvents } from './follow-events.ts'
import { invalidateNow } from './invalidate.ts'

/** Streams only while the page is visible: a browser has six connections to one server. */
export function InboxEvents() {
  const queries = useQueryClient()
  useEffect(() => {
    let end: (() => void) | null = null
    const refetch = () => invalidateNow(queries, ['inbox'])
    const begin = (stream: EventSource) => {
      let isFirst = true
      stream.addEventListener('ready', () => {
        // Events between two streams are lost; the first one begins with what happened since the page was read.
        if (!isFirst) refetch()
        isFirst = false
      })
      stream.addEventListener('changed', refetch)
      // The next request finds out whether the whole service is unavailable (reconnecting.tsx).
      stream.addEventListener('error', () => void queries.invalidateQueries({ queryKey: ['me'] }))
    }
    const follow = () => {
      if (!document.hidden) {
        end ??= followEvents((recent) => `/v1/inbox/events?recent=${recent}`, begin)
        return
      }
      end?.()
      end = null
    }
    const shown = () => {
      follow()
      if (!document.hidden) refetch()
    }
    document.addEventListener('visibilitychange', shown)
    follow()
    return () => {
      document.removeEventListener('visibilitychange', shown)
      end?.()
    }
  }, [queries])
  return null
}
