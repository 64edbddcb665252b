import { refuseMove } from '@svc/contract/schemas/change-request-moves'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { type ChangeRequest, pathOf } from '../queries.ts'
import { Button } from '../../../ui/form.tsx'

export function CloseOrReopen({ cr, verb }: { cr: ChangeRequest; verb: 'close' | 'reopen' }) {
  const move = useSend('POST', `/v1/projects/{projectId}/change-requests/{crId}/${verb}`, {
    path: pathOf(cr),
    refetch: [['project', cr.project_id]],
  })
  return (
    <>
      {move.isError && <Failure error={move.error} />}
      <Button
        action={move}
        disabledReason={useWriteRefusal(cr.account_id) ?? refuseMove(verb, cr.status)}
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
