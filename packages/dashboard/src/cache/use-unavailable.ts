import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { isUnanswered } from '../api.ts'

/** Since when the service gives no answer; null while it does. */
export function useUnavailable(): string | null {
  const queries = useQueryClient()
  const [since, setSince] = useState<string | null>(null)
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type !== 'updated') return
        if (event.action.type === 'success') setSince(null)
        if (event.action.type === 'failed' && isUnanswered(event.action.error))
          setSince((before) => before ?? new Date().toISOString())
      }),
    [queries],
  )
  return since
}
