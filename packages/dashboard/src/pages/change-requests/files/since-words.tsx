import { Link } from '@tanstack/react-router'
import { paths } from '../../../paths.ts'
import type { Diff } from '../../../queries.ts'
import { Time } from '../../../ui/time.tsx'
import type { Look } from './looked.ts'

/** What the comparison begins with, and what is left out of it. */
export function SinceWords({
  since,
  baseRef,
  look,
}: {
  since: NonNullable<Diff['since']>
  baseRef: string
  look: Look | null
}) {
  const { sha, rewritten, base_moved, conflicts } = since
  return (
    <p className="text-sm break-words text-dim" role="status">
      Only what came after <code className="font-mono">{sha.slice(0, 12)}</code>
      {look?.sha === sha && (
        <>
          , which you saw <Time at={look.at} />
        </>
      )}
      .{rewritten && ' The branch was rewritten since, and that commit is no longer part of it.'}
      {base_moved && ` What it took in from ${baseRef} is left out.`}
      {conflicts.length > 0 &&
        ` Both had changed ${conflicts.join(', ')}: lines between <<<<<<< and >>>>>>> are as they met.`}{' '}
      <AllOfIt />
    </p>
  )
}

export function AllOfIt() {
  return (
    <Link from={paths.changeRequest} search={{ tab: 'files' }} className="text-accent underline">
      See all of the change
    </Link>
  )
}
