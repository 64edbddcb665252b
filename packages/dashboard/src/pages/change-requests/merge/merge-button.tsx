import { useState } from 'react'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { useTyped } from '../../../browser/use-stored.ts'
import { useSend } from '../../../components/requests.tsx'
import { fetchingMs, isFetching } from '../../../cache/query-client.ts'
import { Button } from '../../../ui/form.tsx'
import { type ChangeRequest, type MergePreview, pathOf } from '../queries.ts'
import { verificationFailureOf } from './checks.tsx'
import type { Landing } from './landing.ts'

export interface Merging {
  /** The merge commit gets it. Empty: the usual one. */
  message: string
  setMessage: (message: string) => void
  submit: () => void
  isPending: boolean
  error: Error | null
}

export function useMerging(
  cr: ChangeRequest,
  { preview, onFailed }: { preview: MergePreview | undefined; onFailed: () => void },
): Merging {
  const [message, setMessage] = useTyped(`svc-merge-${cr.cr_id}`, '')
  const merge = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/merge', {
    path: pathOf(cr),
    once: true,
    onSuccess: () => setMessage(''),
    onError: onFailed,
    retry: (_count, error) => isFetching(error),
    retryDelay: fetchingMs,
    refetch: [['project', cr.project_id]],
  })
  const submit = () =>
    preview !== undefined &&
    merge.mutate({ expected_head_sha: preview.head_sha, ...(message.trim() === '' ? {} : { message }) })
  return { message, setMessage, submit, isPending: merge.isPending, error: merge.error }
}

/** Merges exactly the head that the page shows. Asks for confirmation when the checks have not passed. */
export function MergeButton({
  cr,
  landing,
  merging: { isPending, submit },
  className,
}: {
  cr: ChangeRequest
  landing: Landing
  merging: Merging
  className: string
}) {
  const [isConfirming, setConfirming] = useState(false)
  const failure = verificationFailureOf(landing.checks ?? null)
  const isUrged = failure === null && landing.preview?.is_up_to_date !== true && landing.stackedOn?.isMerged !== true
  return (
    <>
      <Button
        kind={isUrged ? 'merge' : 'plain'}
        className={className}
        disabledReason={landing.refusal?.text ?? null}
        busy={isPending}
        onClick={() => (failure === null ? submit() : setConfirming(true))}
      >
        <span className="truncate">{isPending ? 'Merging…' : `Merge into ${cr.base_ref}`}</span>
      </Button>
      <ConfirmDialog
        open={isConfirming}
        onOpenChange={setConfirming}
        title={`Merge #${cr.number} anyway?`}
        verb="Merge anyway"
        busy={isPending}
        onConfirm={() => {
          setConfirming(false)
          submit()
        }}
      >
        {failure === null
          ? 'All checks have passed now.'
          : `${failure}. The same checks may fail on ${cr.base_ref} after the merge.`}
      </ConfirmDialog>
    </>
  )
}
