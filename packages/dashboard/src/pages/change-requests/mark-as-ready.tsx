import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Failure } from '../../components/failure.tsx'
import type { ChangeRequest } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'

/** Ends the draft, so that it can be merged. */
export function MarkAsReady({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const queries = useQueryClient()
  const { draft: _, ...metadata } = cr.metadata
  const ready = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}/change-requests/{crId}', {
          params: { path: { projectId, crId: cr.cr_id } },
          body: { metadata },
        }),
      ),
    onSettled: askAgain(queries, ['project', projectId]),
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
