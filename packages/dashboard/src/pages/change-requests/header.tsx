import { useState } from 'react'
import { BranchName } from '../../components/branch-name.tsx'
import { NamedSessionLink, SessionLink } from '../../components/links.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { LandingBadge } from '../../components/status.tsx'
import { Avatar } from '../../ui/avatar.tsx'
import { Button } from '../../ui/form.tsx'
import { Stat } from '../../ui/stat.tsx'
import { Time } from '../../ui/text.tsx'
import { useTitle } from '../../ui/title.ts'
import { EditTitle } from './edit-title.tsx'
import type { StateNow } from './merge/landing.ts'
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
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditTitle cr={cr} onDone={() => setEditing(false)} />
  return (
    <header className="flex flex-col gap-2">
      <div className="flex min-h-control items-start justify-between gap-2">
        <h1 className="min-w-0 text-xl font-semibold wrap-break-word">
          {cr.title} <span className="font-normal text-faint">#{cr.number}</span>
        </h1>
        {cr.status !== 'merged' && (
          <Button kind="quiet" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
      </div>
      <p className="flex min-h-5 flex-wrap items-center gap-x-2 gap-y-1 text-sm text-dim">
        {/* Wide enough for `not ready`, so that what is beside it stays while the page loads. */}
        <span className="min-w-20">
          <LandingBadge cr={cr} state={state} />
        </span>
        <Session cr={cr} summary={summary} />
        <span>
          <BranchName name={cr.head_ref} /> →{' '}
          <code className="rounded-sm bg-sunken px-1.5 py-0.5 font-mono text-xs">{cr.base_ref}</code>
        </span>
        {size !== null && <Stat {...size} />}
        <span>
          opened <Time at={cr.created_at} />
        </span>
      </p>
    </header>
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
