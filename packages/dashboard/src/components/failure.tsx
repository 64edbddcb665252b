import { fetchProgressText, readFetchProgress } from '@svc/contract/schemas/fetch-progress'
import { ApiError } from '../api.ts'
import { isFetching } from '../cache/query-client.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'

/** An error with its hint and a retry button. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error instanceof ApiError && isFetching(error))
    return (
      <Notice tone="neutral" title={fetchProgressText(readFetchProgress(error.detail.progress))}>
        This page updates by itself.
      </Notice>
    )
  const hint = error instanceof ApiError ? error.hint : null
  return (
    <Notice
      title={error instanceof Error ? error.message : 'Something went wrong on this page. Reload it to try again.'}
      action={retry && <Button onClick={retry}>Try again</Button>}
    >
      {hint}
    </Notice>
  )
}
