import { useMutation } from '@tanstack/react-query'
import { api, reply } from '../../../api.ts'
import { useInvalidate } from '../../../cache/invalidate.ts'
import { Failure } from '../../../components/failure.tsx'
import type { ChangeRequest } from '../queries.ts'
import { Button } from '../../../ui/button.tsx'

/** Turns a draft into a mergeable change request. */
export function MarkAsReady({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const { draft: _, ...metadata } = cr.metadata
  const ready = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}/change-requests/{crId}', {
          params: { path: { projectId, crId: cr.cr_id } },
          body: { metadata },
        }),
      ),
    onSettled: useInvalidate(['project', projectId]),
  })
  return (
    <>
      {ready.isError && <Failure error={ready.error} />}
      <Button kind="primary" busy={ready.isPending} onClick={() => ready.mutate()}>
        Mark as ready
      </Button>
    </>
  )
}
