import { refuseMove } from '@svc/contract/schemas/change-request-moves'
import { useMutation } from '@tanstack/react-query'
import { api, reply } from '../../../api.ts'
import { useInvalidate } from '../../../cache/invalidate.ts'
import { Failure } from '../../../components/failure.tsx'
import type { ChangeRequest } from '../queries.ts'
import { Button } from '../../../ui/button.tsx'

export function CloseOrReopen({
  projectId,
  cr,
  verb,
}: {
  projectId: string
  cr: ChangeRequest
  verb: 'close' | 'reopen'
}) {
  const params = { params: { path: { projectId, crId: cr.cr_id } } }
  const move = useMutation({
    mutationFn: () =>
      verb === 'close'
        ? reply(api.POST('/v1/projects/{projectId}/change-requests/{crId}/close', params))
        : reply(api.POST('/v1/projects/{projectId}/change-requests/{crId}/reopen', params)),
    onSettled: useInvalidate(['project', projectId]),
  })
  return (
    <>
      {move.isError && <Failure error={move.error} />}
      <Button
        disabledReason={refuseMove(verb, cr.status)}
        busy={move.isPending}
        onClick={() => move.mutate()}
        className="self-start"
      >
        {verb === 'close' ? 'Close without merging' : 'Reopen'}
      </Button>
    </>
  )
}
