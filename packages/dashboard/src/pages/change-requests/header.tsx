import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { BranchName } from '../../components/branch-name.tsx'
import { NamedSessionLink, SessionLink } from '../../components/links.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { LandingBadge } from '../../components/status.tsx'
import { paths } from '../../paths.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { Button, buttonClass } from '../../ui/form.tsx'
import { Stat } from '../../ui/stat.tsx'
import { Time } from '../../ui/text.tsx'
import { useTitle } from '../../ui/title.ts'
import { EditTitle, useEdit } from './edit-title.tsx'
import type { StateNow } from './merge/landing.ts'
import { reviewField } from './review/review-field.ts'
import { useReviewState } from './review/review-state.ts'
import type { ChangeRequest, Summary } from './queries.ts'

export interface Size {
  additions: number
  deletions: number
}

export function Header({
  cr,
  summary,
  state,
  size,
}: {
  cr: ChangeRequest
  summary: Summary | null
  state: StateNow | null
  size: Size | null
}) {
  useTitle(`#${cr.number} ${cr.title}`)
  // An edit that was typed and not saved shows again.
  const { isChanged } = useEdit(cr)
  const [isEditing, setEditing] = useState(isChanged && cr.status !== 'merged')
  if (isEditing) return <EditTitle cr={cr} onDone={() => setEditing(false)} />
  return (
    <header className="flex flex-col gap-2">
      <div className="flex min-h-control flex-wrap items-start justify-between gap-2">
        <h1 className="min-w-0 flex-1 basis-64 text-xl font-semibold wrap-break-word">
          {cr.title} <span className="font-normal text-faint">#{cr.number}</span>
        </h1>
        <div className="flex gap-2 empty:hidden">
          {cr.status === 'open' && <ReviewLink cr={cr} />}
          {cr.status !== 'merged' && (
            <Button kind="quiet" onClick={() => setEditing(true)}>
              Edit
            </Button>
          )}
        </div>
      </div>
      <p className="flex min-h-5 flex-wrap items-center gap-x-2 gap-y-1 text-sm text-dim">
        {/* Wide enough for `not ready`, so that what is beside it stays while the page loads. */}
        <span className="min-w-20">
          <LandingBadge cr={cr} state={state} />
        </span>
        <Session cr={cr} summary={summary} />
        <span className="inline-flex min-w-0 flex-wrap items-center gap-1">
          <BranchName name={cr.head_ref} /> →
          <code className="rounded-sm bg-hover px-1.5 py-0.5 font-mono text-xs">{cr.base_ref}</code>
        </span>
        {size !== null && <Stat {...size} />}
        <span>
          opened <Time at={cr.created_at} />
        </span>
      </p>
    </header>
  )
}

/** Leads to the form below the files, which takes the summary and sends the comments. */
function ReviewLink({ cr }: { cr: ChangeRequest }) {
  const { slug } = useProject()
  const drafts = useReviewState(cr).state.drafts.length
  return (
    <Link
      to={paths.changeRequest}
      params={{ project: slug, number: String(cr.number) }}
      // A chosen comparison stays: the comments are on its lines.
      search={({ since, to }) => ({ ...(since !== undefined && { since }), ...(to !== undefined && { to }) })}
      hash={reviewField}
      onClick={() => document.getElementById(reviewField)?.focus()}
      className={buttonClass()}
    >
      Review changes{drafts > 0 && ` (${drafts === 1 ? '1 draft' : `${drafts} drafts`})`}
    </Link>
  )
}

/** The session behind it; without one, the person. */
function Session({ cr, summary }: { cr: ChangeRequest; summary: Summary | null }) {
  const { slug } = useProject()
  if (summary?.session != null)
    return (
      <span className="inline-flex min-w-0 items-center gap-1.5">
        <Avatar name={summary.session.name} of="agent" />
        <SessionLink project={slug} sessionId={summary.session.session_id} className="text-text hover:underline">
          {summary.session.name}
        </SessionLink>
      </span>
    )
  if (cr.origin_session_id !== null) return <NamedSessionLink sessionId={cr.origin_session_id} />
  if (summary?.author == null) return null
  return (
    <span className="inline-flex items-center gap-1.5">
      <Avatar name={summary.author} /> {summary.author}
    </span>
  )
}
