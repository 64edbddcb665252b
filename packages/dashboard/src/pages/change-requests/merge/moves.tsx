import { refuseMove } from '@svc/contract/schemas/change-request-moves'
import { isUnanswered } from '../../../api.ts'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { type ChangeRequest, pathOf } from '../queries.ts'
import { Button } from '../../../ui/form.tsx'

/** `isAway`: the service isn't responding, as the notice above the page explains. */
export function CloseOrReopen({ cr, verb, isAway }: { cr: ChangeRequest; verb: 'close' | 'reopen'; isAway: boolean }) {
  const refusal = useWriteRefusal(cr.account_id)
  const move = useSend('POST', `/v1/projects/{projectId}/change-requests/{crId}/${verb}`, {
    path: pathOf(cr),
    refetch: [['project', cr.project_id]],
  })
  return (
    <>
      {move.isError && !(isAway && isUnanswered(move.error)) && <Failure error={move.error} />}
      <Button
        action={move}
        disabledReason={isAway ? "The service isn't responding" : (refusal ?? refuseMove(verb, cr.status))}
        className="self-start"
      >
        {verb === 'close' ? 'Close without merging' : 'Reopen'}
      </Button>
    </>
  )
}

export function MarkAsReady({ cr }: { cr: ChangeRequest }) {
  const { draft: _, ...metadata } = cr.metadata
  const ready = useSend('PATCH', '/v1/projects/{projectId}/change-requests/{crId}', {
    path: pathOf(cr),
    refetch: [['project', cr.project_id]],
  })
  return (
    <>
      {ready.isError && <Failure error={ready.error} />}
      <Button kind="primary" busy={ready.isPending} onClick={() => ready.mutate({ metadata })}>
        Mark as ready
      </Button>
    </>
  )
}
