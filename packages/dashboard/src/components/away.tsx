import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiError } from '../api.ts'
import { Notice } from '../ui/notice.tsx'
import { Time } from '../ui/time.tsx'

const askMs = 3_000

/** While the service does not answer, says that what is shown is old; once it does, all of it is asked for again. */
export function Away() {
  const queries = useQueryClient()
  const [since, setSince] = useState<string | null>(null)
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type !== 'updated') return
        if (event.action.type === 'success') setSince(null)
        if (event.action.type === 'failed' && isAway(event.action.error))
          setSince((before) => before ?? new Date().toISOString())
      }),
    [queries],
  )
  const isGone = since !== null
  useEffect(() => {
    if (!isGone) return
    const timer = setInterval(async () => {
      const isBack = await fetch('/v1/ready').then(
        ({ ok }) => ok,
        () => false,
      )
      if (isBack) await queries.invalidateQueries()
    }, askMs)
    return () => clearInterval(timer)
  }, [isGone, queries])
  if (since === null) return null
  return (
    <div className="mb-4">
      <Notice tone="warn" title="The service does not answer.">
        What is shown is as it was <Time at={since} />. The page goes on by itself once it answers.
      </Notice>
    </div>
  )
}

/** Nothing answered, or something before the service that speaks for it. */
function isAway(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || (error.status > 500 && error.code === 'internal'))
}
