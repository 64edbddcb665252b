import { useNavigate } from '@tanstack/react-router'
import { ApiError } from '../../../api.ts'
import { Failure } from '../../../components/requests.tsx'
import { paths } from '../../../paths.ts'
import type { ChangeRequest, Effects, MergePreview } from '../queries.ts'
import { isFetching } from '../../../cache/query-client.ts'
import { Button } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'

/** `shownMax` of them, or all. */
export function AddedSecrets({
  effects: { secrets_added: added },
  shownMax = added.length,
}: {
  effects: Effects
  shownMax?: number
}) {
  if (added.length === 0) return null
  return (
    <Notice tone="warn" title="This change contains secret values">
      {added.slice(0, shownMax).join('; ')}
      {added.length > shownMax && ` and ${added.length - shownMax} more. See Effects.`}
    </Notice>
  )
}

/** The branch moved before the merge, which is off until the user shows what came after `since`. */
export function NewCommits({
  cr,
  preview,
  since,
  onShow,
}: {
  cr: ChangeRequest
  preview: MergePreview | undefined
  since: string
  onShow: () => void
}) {
  const navigate = useNavigate({ from: paths.changeRequest })
  const areKnown = cr.head_commit_sha !== since && preview?.head_sha !== since
  return (
    <Notice
      tone="warn"
      title="Not merged: the branch has new commits"
      action={
        <Button
          disabledReason={areKnown ? null : 'The new commits are still loading'}
          onClick={() => {
            onShow()
            void navigate({ search: { tab: 'files', since } })
          }}
        >
          Show new commits
        </Button>
      }
    >
      Review them, then merge again.
    </Notice>
  )
}

/** ProtectedBase shows this error. */
export function isProtected(error: Error): boolean {
  return error instanceof ApiError && error.code === 'branch_protected'
}

/** Why the mergeability is unknown, as the reason of a disabled button. */
export function previewErrorReason(error: Error): string {
  if (!(error instanceof ApiError)) return 'mergeability is unknown'
  if (error.status === 0) return "the service can't be reached"
  if (isFetching(error)) return 'the repository is still being fetched'
  return error.code === 'repository_unreachable' ? "the repository can't be reached" : 'mergeability is unknown'
}

export const isUnreachable = (error: Error): error is ApiError =>
  error instanceof ApiError && (error.code === 'repository_unreachable' || error.status === 0)

export function PreviewError({ error, since, retry }: { error: Error; since: string; retry: () => void }) {
  if (!isUnreachable(error)) return <Failure error={error} retry={retry} />
  return (
    <Notice
      tone="warn"
      title={error.status === 0 ? error.message : "Can't reach the repository"}
      action={<Button onClick={retry}>Try again</Button>}
    >
      Last updated {new Date(since).toLocaleString()}. {error.status === 0 ? error.hint : error.message}
    </Notice>
  )
}
