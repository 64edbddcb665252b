import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useUnavailable } from '../../cache/use-unavailable.ts'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'

const readyPollMs = 3_000

/** While the service is unavailable, warns that the page is out of date. Refetches everything once it answers. */
export function Reconnecting() {
  const queries = useQueryClient()
  const since = useUnavailable()
  const isUnavailable = since !== null
  useEffect(() => {
    if (!isUnavailable) return
    const timer = setInterval(async () => {
      const isBack = await fetch('/v1/ready').then(
        ({ ok }) => ok,
        () => false,
      )
      if (isBack) await queries.invalidateQueries()
    }, readyPollMs)
    return () => clearInterval(timer)
  }, [isUnavailable, queries])
  if (since === null) return null
  return (
    <Notice tone="warn" title="The service isn't responding">
      This page was last updated <Time at={since} /> and refreshes when the service is back.
    </Notice>
  )
}
