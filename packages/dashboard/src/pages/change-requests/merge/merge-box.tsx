import { isDraft, refuseMove } from '@svc/contract/schemas/change-request-moves'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useSend } from '../../../components/requests.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { UserName } from '../../../components/user-name.tsx'
import { type ChangeRequest, checks, effects, mergePreview, type MergePreview, pathOf } from '../queries.ts'
import { fetchingMs, isFetching } from '../../../cache/query-client.ts'
import { type Action, Button, TextArea } from '../../../ui/form.tsx'
import { Card } from '../../../ui/layout.tsx'
import { Time } from '../../../ui/text.tsx'
import { ChecksOf, verificationFailureOf } from './checks.tsx'
import { CloseOrReopen, MarkAsReady } from './moves.tsx'
import { Conflicts } from './conflicts.tsx'
import { Collisions, isProtected, MergeFailure, PreviewError, Warnings, previewErrorReason } from './merge-notices.tsx'
import { ProtectedBase } from './protected-base.tsx'

/** Shows whether the change request merges, and merges exactly the head it showed. */
export function MergeBox({ cr }: { cr: ChangeRequest }) {
  switch (cr.status) {
    case 'merged':
      return (
        <Box title="Merged">
          <p>
            <UserName accountId={cr.account_id} userId={cr.merged_by} /> merged this into{' '}
            <code className="font-mono">{cr.base_ref}</code> as{' '}
            <code className="font-mono break-all">{cr.merge_commit_sha}</code>{' '}
            {cr.merged_at !== null && <Time at={cr.merged_at} />}. The branch{' '}
            <code className="font-mono break-all">{cr.head_ref}</code> still exists.
          </p>
          <ChecksOf cr={cr} />
        </Box>
      )
    case 'closed':
      return (
        <Box title="Closed">
          <p>
            <UserName accountId={cr.account_id} userId={cr.closed_by} /> closed this without merging
            {cr.closed_at !== null && (
              <>
                {' '}
                <Time at={cr.closed_at} />
              </>
            )}
            . The branch still exists.
          </p>
          <CloseOrReopen cr={cr} verb="reopen" />
        </Box>
      )
    case 'open':
      return <OpenBox cr={cr} />
    default:
      return cr.status satisfies never
  }
}

function OpenBox({ cr }: { cr: ChangeRequest }) {
  const preview = useQuery(mergePreview(cr))
  if (preview.isPending)
    return (
      <Box title="Merge">
        <p role="status" className="text-dim">
          Checking mergeability…
        </p>
      </Box>
    )
  const stale = preview.isError && (
    <PreviewError
      error={preview.error}
      since={preview.data === undefined ? cr.updated_at : new Date(preview.dataUpdatedAt).toISOString()}
      retry={() => void preview.refetch()}
    />
  )
  if (preview.data === undefined)
    return (
      <Box title="Merge">
        {stale}
        <CloseOrReopen cr={cr} verb="close" />
      </Box>
    )
  const staleReason = preview.isError ? previewErrorReason(preview.error) : null
  return <Merge cr={cr} preview={preview.data} stale={stale} staleReason={staleReason} />
}

interface Previewed {
  cr: ChangeRequest
  preview: MergePreview
}

/** `stale` shows why the preview may be out of date; `staleReason` is the same as the reason of a disabled button. */
function Merge({ cr, preview, stale, staleReason }: Previewed & { stale: ReactNode; staleReason: string | null }) {
  const { settings } = useProject()
  const found = useQuery(effects(cr)).data ?? null
  const [message, setMessage] = useState('')
  const [isEditing, setEditing] = useState(false)
  const merge = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/merge', {
    path: pathOf(cr),
    once: true,
    retry: (_count, error) => isFetching(error),
    retryDelay: fetchingMs,
    refetch: [['project', cr.project_id]],
  })
  const submit = () =>
    merge.mutate({ expected_head_sha: preview.head_sha, ...(message.trim() === '' ? {} : { message }) })
  const { can_merge, can_fast_forward, is_up_to_date, collisions = [] } = preview
  const isInvalid = found?.manifest_issues.some(({ severity }) => severity === 'error') ?? false
  const refusal = staleReason ?? refusalOf(cr, preview, isInvalid && settings.manifest_gate === 'on')
  const makesCommit = can_merge && !can_fast_forward && !is_up_to_date
  return (
    <Box
      title={isDraft(cr) ? 'Draft' : can_merge ? (is_up_to_date ? 'Nothing to merge' : 'Ready to merge') : 'Conflicts'}
    >
      {stale}
      <Summary cr={cr} preview={preview} />
      <ChecksOf cr={cr} />
      <Collisions collisions={collisions} />
      {found !== null && <Warnings effects={found} />}
      <ProtectedBase cr={cr} />
      {merge.isError && !isProtected(merge.error) && <MergeFailure error={merge.error} />}
      {makesCommit && isEditing && (
        <TextArea
          label="Merge commit message"
          className="font-mono"
          placeholder={`Merge CR #${cr.number}: ${cr.title}`}
          value={message}
          onChange={setMessage}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <MergeButton cr={cr} action={{ isPending: merge.isPending, mutate: submit }} refusal={refusal} />
        {isDraft(cr) && <MarkAsReady cr={cr} />}
        {makesCommit && !isEditing && (
          <Button kind="quiet" onClick={() => setEditing(true)}>
            Edit message
          </Button>
        )}
        <span className="flex-1" />
        <CloseOrReopen cr={cr} verb="close" />
        {refusal !== null && <p className="w-full text-sm text-dim">Can't merge: {refusal}.</p>}
      </div>
    </Box>
  )
}

/** Asks for confirmation when the checks have not passed. */
function MergeButton({ cr, action, refusal }: { cr: ChangeRequest; action: Action; refusal: string | null }) {
  const checked = useQuery(checks(cr))
  const failure = verificationFailureOf(checked.data ?? null)
  const [isConfirming, setConfirming] = useState(false)
  return (
    <>
      <Button
        kind="merge"
        disabledReason={refusal ?? (checked.isPending ? 'Check results are still loading' : null)}
        busy={action.isPending}
        onClick={() => (failure === null ? action.mutate() : setConfirming(true))}
      >
        {action.isPending ? 'Merging…' : `Merge into ${cr.base_ref}`}
      </Button>
      <ConfirmDialog
        open={isConfirming}
        onOpenChange={setConfirming}
        title={`Merge #${cr.number} anyway?`}
        verb="Merge anyway"
        busy={action.isPending}
        onConfirm={() => {
          setConfirming(false)
          action.mutate()
        }}
      >
        {failure === null
          ? 'All checks have passed now.'
          : `${failure}. The same checks may fail on ${cr.base_ref} after the merge.`}
      </ConfirmDialog>
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

function Summary({ cr, preview }: Previewed) {
  if (preview.is_up_to_date)
    return <p>{cr.base_ref} already contains these commits. Merging only marks the change request as merged.</p>
  if (preview.can_fast_forward)
    return (
      <p>
        Merges cleanly: {cr.base_ref} fast-forwards to <Sha of={preview.head_sha} />.
      </p>
    )
  if (preview.can_merge)
    return (
      <p>
        Merges cleanly: a merge commit adds <Sha of={preview.head_sha} /> to {cr.base_ref}.
      </p>
    )
  return <Conflicts cr={cr} files={preview.conflicts} />
}

/** Why this change request cannot be merged; null when it can. */
function refusalOf(cr: ChangeRequest, { can_merge, conflicts }: MergePreview, isBlocked: boolean): string | null {
  const byStatus = refuseMove('merge', cr.status)
  if (byStatus !== null) return byStatus
  if (isDraft(cr)) return 'this is a draft'
  if (!can_merge)
    return `${conflicts.length} ${conflicts.length === 1 ? 'file conflicts' : 'files conflict'} with ${cr.base_ref}`
  return isBlocked ? 'svc.toml is invalid, and this project requires a valid one' : null
}
