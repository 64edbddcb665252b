import { useEffect, useState } from 'react'
import { ApiError, isUnanswered } from '../../../api.ts'
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
  submit: (preview: MergePreview | undefined, onFailed?: () => void) => void
  isPending: boolean
  error: Error | null
  /** The head that was not merged since the branch has new commits. */
  movedFrom: string | null
  /** The user saw why it failed. */
  dismiss: () => void
}

export function useMerging(cr: ChangeRequest, isAway: boolean): Merging {
  const [message, setMessage] = useTyped(`svc-merge-${cr.cr_id}`, '')
  const merge = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/merge', {
    path: pathOf(cr),
    once: true,
    onSuccess: () => setMessage(''),
    retry: (_count, error) => isFetching(error),
    retryDelay: fetchingMs,
    refetch: [['project', cr.project_id]],
  })
  const { error, reset, variables } = merge
  // The notice above the page shows it, and goes away when the service is back.
  const isShownAbove = isAway && isUnanswered(error)
  useEffect(() => {
    if (isShownAbove) reset()
  }, [isShownAbove, reset])
  const submit: Merging['submit'] = (preview, onFailed = () => {}) =>
    preview !== undefined &&
    merge.mutate(
      { expected_head_sha: preview.head_sha, ...(message.trim() === '' ? {} : { message }) },
      { onError: onFailed },
    )
  const isMoved = error instanceof ApiError && error.code === 'head_moved'
  const movedFrom = (isMoved ? variables?.expected_head_sha : null) ?? null
  return { message, setMessage, submit, isPending: merge.isPending, error, movedFrom, dismiss: reset }
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
  const { preview, stackedOn, protection } = landing
  const isEmpty = preview?.is_up_to_date === true
  const isUrged = failure === null && !isEmpty && stackedOn?.isMerged !== true && protection === null
  const label = isPending ? 'Merging…' : isEmpty ? 'Mark as merged' : `Merge into ${cr.base_ref}`
  const send = () => submit(preview)
  return (
    <>
      <Button
        kind={isUrged ? 'merge' : 'plain'}
        className={className}
        disabledReason={landing.refusal?.text ?? null}
        busy={isPending}
        onClick={() => (failure === null ? send() : setConfirming(true))}
      >
        <span className="truncate">{label}</span>
      </Button>
      <ConfirmDialog
        open={isConfirming}
        onOpenChange={setConfirming}
        title={`Merge #${cr.number} anyway?`}
        verb="Merge anyway"
        busy={isPending}
        onConfirm={() => {
          setConfirming(false)
          send()
        }}
      >
        {failure === null
          ? 'All checks have passed now.'
          : `${failure}. The same checks may fail on ${cr.base_ref} after the merge.`}
      </ConfirmDialog>
    </>
  )
}
