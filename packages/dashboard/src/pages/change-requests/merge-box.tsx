import { refuseMove } from '@svc/contract/change-request-moves'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, ApiError, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { type ChangeRequest, effects, mergePreview, type MergePreview } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { TextArea } from '../../ui/field.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Conflicts } from './conflicts.tsx'

/** Says whether it merges and why not, and merges exactly the head it showed. */
export function MergeBox({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  switch (cr.status) {
    case 'merged':
      return (
        <Box title="Merged">
          <p>
            It is in <code className="font-mono">{cr.base_ref}</code> as{' '}
            <code className="font-mono">{cr.merge_commit_sha}</code>. The branch{' '}
            <code className="font-mono">{cr.head_ref}</code> is still there.
          </p>
        </Box>
      )
    case 'closed':
      return (
        <Box title="Closed">
          <p>It was closed without a merge. Its branch is still there.</p>
          <Move projectId={projectId} cr={cr} verb="reopen" />
        </Box>
      )
    case 'open':
      return <OpenBox projectId={projectId} cr={cr} />
    default:
      return cr.status satisfies never
  }
}

function OpenBox({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const preview = useQuery(mergePreview(projectId, cr.cr_id))
  if (preview.isPending) return <Loading what="whether it merges" />
  if (preview.isError && preview.data === undefined)
    return (
      <Box title="Merge">
        <Unknown error={preview.error} since={cr.updated_at} retry={() => void preview.refetch()} />
        <Move projectId={projectId} cr={cr} verb="close" />
      </Box>
    )
  return <Merge projectId={projectId} cr={cr} preview={preview.data} />
}

function Merge({ projectId, cr, preview }: { projectId: string; cr: ChangeRequest; preview: MergePreview }) {
  const queries = useQueryClient()
  const [message, setMessage] = useState('')
  const [writes, setWrites] = useState(false)
  const merge = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/change-requests/{crId}/merge', {
          params: { path: { projectId, crId: cr.cr_id }, header: onlyOnce() },
          body: { expected_head_sha: preview.head_sha, ...(message.trim() === '' ? {} : { message }) },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  })
  const { can_merge, can_fast_forward, is_up_to_date, conflicts, collisions = [] } = preview
  const refusal =
    refuseMove('merge', cr.status) ??
    (can_merge ? null : `${conflicts.length} ${conflicts.length === 1 ? 'file conflicts' : 'files conflict'}`)
  const makesCommit = can_merge && !can_fast_forward && !is_up_to_date
  return (
    <Box title={can_merge ? 'Ready to merge' : 'Conflicts'}>
      {is_up_to_date ? (
        <p>Nothing to merge: {cr.base_ref} holds all of it already. Merging only marks it as merged.</p>
      ) : can_fast_forward ? (
        <p>
          It merges cleanly: {cr.base_ref} moves forward to <Sha of={preview.head_sha} />, without a merge commit.
        </p>
      ) : can_merge ? (
        <p>
          It merges cleanly, with a merge commit of <Sha of={preview.head_sha} /> into {cr.base_ref}.
        </p>
      ) : (
        <Conflicts projectId={projectId} cr={cr} files={conflicts} />
      )}
      {collisions.length > 0 && (
        <Notice tone="warn" title={`Collides with ${collisions.map(({ number }) => `#${number}`).join(', ')}`}>
          Once this is merged, they will conflict in {collisions.flatMap(({ files }) => files).join(', ')}.
        </Notice>
      )}
      <Warnings projectId={projectId} cr={cr} />
      {merge.isError && <MergeFailure error={merge.error} />}
      {makesCommit && writes && (
        <TextArea
          label="Message of the merge commit"
          className="font-mono"
          placeholder={`Merge CR #${cr.number}: ${cr.title}`}
          value={message}
          onChange={(event) => setMessage(event.target.value)}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button kind="merge" disabledReason={refusal} busy={merge.isPending} onClick={() => merge.mutate()}>
          {merge.isPending ? 'Merging…' : `Merge into ${cr.base_ref}`}
        </Button>
        {makesCommit && !writes && (
          <Button kind="quiet" onClick={() => setWrites(true)}>
            Write a message
          </Button>
        )}
        <span className="flex-1" />
        <Move projectId={projectId} cr={cr} verb="close" />
        {refusal !== null && <p className="w-full text-sm text-dim">Merging is off: {refusal}.</p>}
      </div>
    </Box>
  )
}

/** What does not stop a merge and may spoil what follows it. */
function Warnings({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  const { data: told } = useQuery(effects(projectId, cr))
  if (told === undefined) return null
  const broken = told.manifest_issues.filter(({ severity }) => severity === 'error').length
  return (
    <>
      {told.secrets_added.length > 0 && (
        <Notice tone="warn" title="This change holds values of secrets">
          {told.secrets_added.slice(0, 3).join('; ')}
          {told.secrets_added.length > 3 && ` and ${told.secrets_added.length - 3} more. See Effects.`}
        </Notice>
      )}
      {told.secrets_missing.length > 0 && (
        <Notice tone="warn" title={`Secrets are missing: ${told.secrets_missing.join(', ')}`}>
          Sessions and apps need them once this is merged.
        </Notice>
      )}
      {broken > 0 && (
        <Notice tone="warn" title="svc.toml is broken in this change">
          What is wrong in it is left out. See Effects.
        </Notice>
      )}
    </>
  )
}

/** The head moved between the look and the click: the page already shows the new one. */
function MergeFailure({ error }: { error: Error }) {
  if (error instanceof ApiError && error.code === 'head_moved')
    return (
      <Notice tone="warn" title="The branch moved before the merge, so nothing was merged.">
        Look at what is new, then merge again.
      </Notice>
    )
  return <Failure error={error} />
}

function Unknown({ error, since, retry }: { error: Error; since: string; retry: () => void }) {
  if (error instanceof ApiError && error.code === 'repository_unreachable')
    return (
      <Notice
        tone="warn"
        title="The repository cannot be reached, so nobody can say whether it merges."
        action={<Button onClick={retry}>Try again</Button>}
      >
        What is shown is from {new Date(since).toLocaleString()}. {error.message}
      </Notice>
    )
  return <Failure error={error} retry={retry} />
}

function Move({ projectId, cr, verb }: { projectId: string; cr: ChangeRequest; verb: 'close' | 'reopen' }) {
  const queries = useQueryClient()
  const params = { params: { path: { projectId, crId: cr.cr_id } } }
  const move = useMutation({
    mutationFn: () =>
      verb === 'close'
        ? reply(api.POST('/v1/projects/{projectId}/change-requests/{crId}/close', params))
        : reply(api.POST('/v1/projects/{projectId}/change-requests/{crId}/reopen', params)),
    onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
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

function Sha({ of }: { of: string }) {
  return <code className="font-mono">{of.slice(0, 10)}</code>
}

function Box({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card title={title}>
      <div className="flex flex-col gap-3 px-4 py-3">{children}</div>
    </Card>
  )
}
