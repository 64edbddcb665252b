import { Link } from '@tanstack/react-router'
import { paths } from '../../../paths.ts'
import type { Diff } from '../queries.ts'
import { Time } from '../../../ui/text.tsx'
import type { Viewed } from './last-viewed.ts'
import { shortCommit } from '../../../components/short-commit.ts'

interface Compared {
  since: NonNullable<Diff['since']>
  baseRef: string
  lastViewed: Viewed | null
}

/** The start of the comparison, and what it leaves out. */
export function SinceLabel({ since, baseRef, lastViewed }: Compared) {
  const { sha, rewritten, base_moved, conflicts } = since
  return (
    <p className="text-sm break-words text-dim" role="status">
      Changes since <code className="font-mono">{shortCommit(sha)}</code>
      {lastViewed?.sha === sha && (
        <>
          , which you viewed <Time at={lastViewed.at} />
        </>
      )}
      .{rewritten && ' The branch was rewritten and no longer contains that commit.'}
      {base_moved && ` Changes merged from ${baseRef} are left out.`}
      {conflicts.length > 0 &&
        ` Both sides changed ${conflicts.join(', ')}: conflict markers show the two versions.`}{' '}
      <AllChanges />
    </p>
  )
}

export function AllChanges() {
  return (
    <Link from={paths.changeRequest} search={{ tab: 'files' }} className="text-accent underline">
      See all changes
    </Link>
  )
}
