import { refuseMove } from '@svc/contract/change-request-moves'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { mergePreview, type ChangeRequest } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Loading } from '../../ui/loading.tsx'

/** Says whether it merges, and merges exactly the head it showed. */
export function MergeBox({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const queries = useQueryClient()
  const preview = useQuery({ ...mergePreview(projectId, cr.cr_id), enabled: cr.status === 'open' })
  const merge = useMutation({
    mutationFn: (expected_head_sha: string) =>
      reply(
        api.POST('/v1/projects/{projectId}/change-requests/{crId}/merge', {
          params: { path: { projectId, crId: cr.cr_id }, header: onlyOnce() },
          body: { expected_head_sha },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  })
  if (cr.status !== 'open') return null
  if (preview.isPending) return <Loading what="whether it merges" />
  if (preview.isError) return <Failure error={preview.error} retry={() => void preview.refetch()} />
  const { can_merge, can_fast_forward, is_up_to_date, conflicts, head_sha } = preview.data
  const refusal =
    refuseMove('merge', cr.status) ?? (can_merge ? null : `${conflicts.length} files conflict with ${cr.base_ref}`)
  const words = is_up_to_date
    ? `Nothing to merge: ${cr.base_ref} holds all of it.`
    : can_fast_forward
      ? `Merges cleanly, as a fast-forward of ${cr.base_ref}.`
      : can_merge
        ? 'Merges cleanly, with a merge commit.'
        : 'These files conflict:'
  return (
    <Card title="Merge">
      <div className="flex flex-col gap-3 px-4 py-3">
        <p>{words}</p>
        {conflicts.length > 0 && (
          <ul className="list-disc pl-6 font-mono text-sm">
            {conflicts.map((path) => (
              <li key={path}>{path}</li>
            ))}
          </ul>
        )}
        {merge.isError && <Failure error={merge.error} />}
        <div>
          <Button kind="merge" disabledReason={refusal} busy={merge.isPending} onClick={() => merge.mutate(head_sha)}>
            Merge
          </Button>
        </div>
      </div>
    </Card>
  )
}
