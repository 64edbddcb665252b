import { isDraft, refuseMove } from '@svc/contract/change-request-moves'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { UserName } from '../../components/user-name.tsx'
import { type ChangeRequest, checks, effects, mergePreview, type MergePreview } from '../../queries.ts'
import { fetchingMs, isFetching } from '../../query-client.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { TextArea } from '../../ui/field.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Time } from '../../ui/time.tsx'
import { ChecksOf, doubtOf } from './checks.tsx'
import { CloseOrReopen } from './close-or-reopen.tsx'
import { Conflicts } from './conflicts.tsx'
import { MarkAsReady } from './mark-as-ready.tsx'
import { Collisions, isProtected, MergeFailure, Unknown, Warnings, whyUnknown } from './merge-notices.tsx'
import { ProtectedBase } from './protected-base.tsx'

/** Says whether it merges and why not, and merges exactly the head it showed. */
export function MergeBox({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  switch (cr.status) {
    case 'merged':
      return (
        <Box title="Merged">
          <p>
            <UserName accountId={cr.account_id} userId={cr.merged_by} /> merged it into{' '}
            <code className="font-mono">{cr.base_ref}</code> as{' '}
            <code className="font-mono break-all">{cr.merge_commit_sha}</code>{' '}
            {cr.merged_at !== null && <Time at={cr.merged_at} />}. The branch{' '}
            <code className="font-mono break-all">{cr.head_ref}</code> is still there.
          </p>
          <ChecksOf projectId={projectId} cr={cr} />
        </Box>
      )
    case 'closed':
      return (
        <Box title="Closed">
          <p>
            <UserName accountId={cr.account_id} userId={cr.closed_by} /> closed it without a merge
            {cr.closed_at !== null && (
              <>
                {' '}
                <Time at={cr.closed_at} />
              </>
            )}
            . Its branch is still there.
          </p>
          <CloseOrReopen projectId={projectId} cr={cr} verb="reopen" />
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
  if (preview.isPending)
    return (
      <Box title="Merge">
        <Loading what="whether it merges" />
      </Box>
    )
  const unknown = preview.isError && (
    <Unknown
      error={preview.error}
      since={preview.data === undefined ? cr.updated_at : new Date(preview.dataUpdatedAt).toISOString()}
      retry={() => void preview.refetch()}
    />
  )
  if (preview.data === undefined)
    return (
      <Box title="Merge">
        {unknown}
        <CloseOrReopen projectId={projectId} cr={cr} verb="close" />
      </Box>
    )
  return (
    <Merge
      projectId={projectId}
      cr={cr}
      preview={preview.data}
      unknown={unknown}
      away={preview.isError ? whyUnknown(preview.error) : null}
    />
  )
}

/** `unknown` says why this may be how it was, and not how it is; `away` says so in the reason of a button. */
function Merge({
  projectId,
  cr,
  preview,
  unknown,
  away,
}: {
  projectId: string
  cr: ChangeRequest
  preview: MergePreview
  unknown: ReactNode
  away: string | null
}) {
  const queries = useQueryClient()
  const { settings } = useProject()
  const told = useQuery(effects(projectId, cr)).data ?? null
  const checked = useQuery(checks(projectId, cr.cr_id))
  const doubt = doubtOf(checked.data ?? null)
  const [asks, setAsks] = useState(false)
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
    retry: (_count, error) => isFetching(error),
    retryDelay: fetchingMs,
    onSettled: askAgain(queries, ['project', projectId]),
  })
  const { can_merge, can_fast_forward, is_up_to_date, conflicts, collisions = [] } = preview
  const isBroken = told?.manifest_issues.some(({ severity }) => severity === 'error') ?? false
  const refusal =
    refuseMove('merge', cr.status) ??
    away ??
    (isDraft(cr) ? 'this is a draft' : null) ??
    (can_merge
      ? isBroken && settings.manifest_gate === 'on'
        ? 'svc.toml is broken in it, and this project refuses that'
        : null
      : `${conflicts.length} ${conflicts.length === 1 ? 'file conflicts' : 'files conflict'}`)
  const makesCommit = can_merge && !can_fast_forward && !is_up_to_date
  return (
    <Box
      title={isDraft(cr) ? 'Draft' : can_merge ? (is_up_to_date ? 'Nothing to merge' : 'Ready to merge') : 'Conflicts'}
    >
      {unknown}
      {is_up_to_date ? (
        <p>{cr.base_ref} holds all of it already. Merging only marks it as merged.</p>
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
      <ChecksOf projectId={projectId} cr={cr} />
      <Collisions collisions={collisions} />
      {told !== null && <Warnings effects={told} />}
      <ProtectedBase projectId={projectId} cr={cr} />
      {merge.isError && !isProtected(merge.error) && <MergeFailure error={merge.error} />}
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
        <Button
          kind="merge"
          disabledReason={refusal ?? (checked.isPending ? 'How its checks went is not read yet' : null)}
          busy={merge.isPending}
          onClick={() => (doubt === null ? merge.mutate() : setAsks(true))}
        >
          {merge.isPending ? 'Merging…' : `Merge into ${cr.base_ref}`}
        </Button>
        <ConfirmDialog
          open={asks}
          onOpenChange={setAsks}
          title={`Merge #${cr.number} all the same?`}
          verb="Merge all the same"
          busy={merge.isPending}
          onConfirm={() => {
            setAsks(false)
            merge.mutate()
          }}
        >
          {doubt === null
            ? 'Its checks have passed by now.'
            : `${doubt}. What fails there would fail on ${cr.base_ref}, too.`}
        </ConfirmDialog>
        {isDraft(cr) && <MarkAsReady projectId={projectId} cr={cr} />}
        {makesCommit && !writes && (
          <Button kind="quiet" onClick={() => setWrites(true)}>
            Write a message
          </Button>
        )}
        <span className="flex-1" />
        <CloseOrReopen projectId={projectId} cr={cr} verb="close" />
        {refusal !== null && <p className="w-full text-sm text-dim">Merging is off: {refusal}.</p>}
      </div>
    </Box>
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
