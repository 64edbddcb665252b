import { ApiError } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import type { Effects, MergePreview } from '../../queries.ts'
import { isFetching } from '../../query-client.ts'
import { Button } from '../../ui/button.tsx'
import { Notice } from '../../ui/notice.tsx'

/** Each file once, however many it collides in. */
export function Collisions({ collisions }: { collisions: NonNullable<MergePreview['collisions']> }) {
  if (collisions.length === 0) return null
  const files = [...new Set(collisions.flatMap(({ files }) => files))]
  const more = files.length - filesShown
  return (
    <Notice tone="warn" title={`Collides with ${collisions.map(({ number }) => `#${number}`).join(', ')}`}>
      Once this is merged, {collisions.length === 1 ? 'it' : 'they'} will conflict in{' '}
      <span className="break-all">{files.slice(0, filesShown).join(', ')}</span>
      {more > 0 && ` and ${more} more`}.
    </Notice>
  )
}

const filesShown = 10

/** What does not stop a merge and may spoil what follows it. */
export function Warnings({ effects }: { effects: Effects }) {
  const isBroken = effects.manifest_issues.some(({ severity }) => severity === 'error')
  return (
    <>
      {effects.secrets_added.length > 0 && (
        <Notice tone="warn" title="This change holds values of secrets">
          {effects.secrets_added.slice(0, 3).join('; ')}
          {effects.secrets_added.length > 3 && ` and ${effects.secrets_added.length - 3} more. See Effects.`}
        </Notice>
      )}
      {effects.secrets_missing.length > 0 && (
        <Notice tone="warn" title={`Secrets are missing: ${effects.secrets_missing.join(', ')}`}>
          Sessions and apps need them once this is merged.
        </Notice>
      )}
      {isBroken && (
        <Notice tone="warn" title="svc.toml is broken in this change">
          What is wrong in it is left out. See Effects.
        </Notice>
      )}
    </>
  )
}

/** The head moved between the look and the click: the page already shows the new one. */
export function MergeFailure({ error }: { error: Error }) {
  if (error instanceof ApiError && error.code === 'head_moved')
    return (
      <Notice tone="warn" title="The branch moved before the merge, so nothing was merged.">
        Look at what is new, then merge again.
      </Notice>
    )
  return <Failure error={error} />
}

/** Shown as the state of the base, which outlasts this attempt. */
export function isProtected(error: Error): boolean {
  return error instanceof ApiError && error.code === 'branch_protected'
}

/** Why nobody can say how it merges now, as the reason of a button. */
export function whyUnknown(error: Error): string {
  if (!(error instanceof ApiError)) return 'whether it merges is not known now'
  if (error.status === 0) return 'the service cannot be reached'
  if (isFetching(error)) return 'the repository is still being fetched'
  return error.code === 'repository_unreachable'
    ? 'the repository cannot be reached'
    : 'whether it merges is not known now'
}

export function Unknown({ error, since, retry }: { error: Error; since: string; retry: () => void }) {
  const isAway = error instanceof ApiError && (error.code === 'repository_unreachable' || error.status === 0)
  if (!isAway) return <Failure error={error} retry={retry} />
  return (
    <Notice
      tone="warn"
      title={
        error.status === 0
          ? error.message
          : 'The repository cannot be reached, so nobody can say whether it merges now.'
      }
      action={<Button onClick={retry}>Try again</Button>}
    >
      What is shown is from {new Date(since).toLocaleString()}. {error.status === 0 ? error.hint : error.message}
    </Notice>
  )
}
