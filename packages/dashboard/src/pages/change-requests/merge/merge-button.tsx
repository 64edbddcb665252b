import { useState } from 'react'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { useSend } from '../../../components/requests.tsx'
import { fetchingMs, isFetching } from '../../../cache/query-client.ts'
import { Button } from '../../../ui/form.tsx'
import { type ChangeRequest, pathOf } from '../queries.ts'
import { verificationFailureOf } from './checks.tsx'
import type { Landing } from './landing.ts'

export function useMerge(cr: ChangeRequest, onMerged: () => void) {
  return useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/merge', {
    path: pathOf(cr),
    once: true,
    onSuccess: onMerged,
    retry: (_count, error) => isFetching(error),
    retryDelay: fetchingMs,
    refetch: [['project', cr.project_id]],
  })
}

/** Merges exactly the head that the page shows. Asks for confirmation when the checks have not passed. */
export function MergeButton({
  cr,
  landing,
  isPending,
  onMerge,
}: {
  cr: ChangeRequest
  landing: Landing
  isPending: boolean
  onMerge: () => void
}) {
  const [isConfirming, setConfirming] = useState(false)
  const failure = verificationFailureOf(landing.checks ?? null)
  const isUrged = failure === null && landing.preview?.is_up_to_date !== true && landing.stackedOn?.isMerged !== true
  return (
    <>
      <Button
        kind={isUrged ? 'merge' : 'plain'}
        className="w-full"
        disabledReason={landing.refusal?.text ?? null}
        busy={isPending}
        onClick={() => (failure === null ? onMerge() : setConfirming(true))}
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
          onMerge()
        }}
      >
        {failure === null
          ? 'All checks have passed now.'
          : `${failure}. The same checks may fail on ${cr.base_ref} after the merge.`}
      </ConfirmDialog>
    </>
  )
}
