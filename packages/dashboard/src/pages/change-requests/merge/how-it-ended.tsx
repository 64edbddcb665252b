/** How a change request ended: who merged or closed it, and when. */
import { Link } from '@tanstack/react-router'
import { shortCommit } from '../../../components/short-commit.ts'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { UserName } from '../../../components/user-name.tsx'
import { paths } from '../../../paths.ts'
import { Notice } from '../../../ui/layout.tsx'
import { Time } from '../../../ui/text.tsx'
import { addedNothing, type ChangeRequest, type Summary } from '../queries.ts'

export function HowItEnded({ cr, summary }: { cr: ChangeRequest; summary: Summary | null }) {
  if (cr.status !== 'merged') return <ClosedBy cr={cr} />
  return (
    <>
      <MergedBy cr={cr} />
      {summary?.merge_lost !== undefined && <LostMerge cr={cr} of={summary.merge_lost} />}
    </>
  )
}

function LostMerge({ cr, of }: { cr: ChangeRequest; of: NonNullable<Summary['merge_lost']> }) {
  const { slug } = useProject()
  return (
    <Notice tone="warn" title="This merge was lost">
      The server {of.server} was taken over <Time at={of.at} /> without it, so{' '}
      <code className="font-mono">{cr.base_ref}</code> doesn't have it. To merge it again,{' '}
      <Link
        to={paths.newChangeRequest}
        params={{ project: slug }}
        search={{ head: cr.head_ref, base: cr.base_ref }}
        className="text-accent underline"
      >
        open a new change request
      </Link>{' '}
      of <code className="font-mono">{cr.head_ref}</code>.
    </Notice>
  )
}

function ClosedBy({ cr }: { cr: ChangeRequest }) {
  return (
    <p>
      <UserName accountId={cr.account_id} userId={cr.closed_by} /> closed this without merging
      {cr.closed_at !== null && (
        <>
          {' '}
          <Time at={cr.closed_at} />
        </>
      )}
      . The branch was not deleted.
    </p>
  )
}

function MergedBy({ cr }: { cr: ChangeRequest }) {
  const { merge_commit_sha: merged } = cr
  const commit = merged !== null && <CommitLink sha={merged} />
  const base = <code className="font-mono">{cr.base_ref}</code>
  const at = cr.merged_at !== null && <Time at={cr.merged_at} />
  const by = <UserName accountId={cr.account_id} userId={cr.merged_by} />
  if (addedNothing(cr))
    return (
      <p>
        {by} marked this as merged {at}. {base} already contained its commits at {commit}, so nothing was added.
      </p>
    )
  return (
    <p>
      {by} merged this into {base} as {commit} {at}.
    </p>
  )
}

function CommitLink({ sha }: { sha: string }) {
  const { slug } = useProject()
  return (
    <Link to={paths.commit} params={{ project: slug, sha }} title={sha} className="text-accent underline">
      <code className="font-mono">{shortCommit(sha)}</code>
    </Link>
  )
}
