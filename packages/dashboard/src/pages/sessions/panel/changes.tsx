import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { lazy } from '../../../components/lazy-code.tsx'
import { Failure } from '../../../components/requests.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { Button, buttonClass } from '../../../ui/form.tsx'
import { PanelSection } from '../../../ui/layout.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Opening } from '../../../ui/opening.tsx'
import { Stat } from '../../../ui/stat.tsx'
import { amountOf, unfinishedOf } from '../banner.tsx'
import { type Changes, changes, type Session, unfinishedWork } from '../queries.ts'

const DiffDialog = lazy(() => import('./diff-dialog.tsx'), 'default')

const shownMax = 12

/** The work tree of the session, compared with its base. */
export function ChangesSection({ session, busy }: { session: Session; busy: boolean }) {
  const { slug } = useProject()
  const [isOpen, setOpen] = useState(false)
  const found = useQuery(changes(session, busy))
  const { data } = found
  if (found.isError && data === undefined)
    return (
      <PanelSection title="Changes">
        <Failure error={found.error} retry={() => void found.refetch()} />
      </PanelSection>
    )
  const files = data?.files ?? []
  const hidden = (data?.files_changed ?? 0) - Math.min(files.length, shownMax)
  return (
    <PanelSection title="Changes" aside={data === undefined ? '' : summaryOf(data)}>
      <NotRestored session={session} />
      {data !== undefined && files.length === 0 && (
        <p className="text-sm text-dim">No file in the work tree differs from {session.base_ref}.</p>
      )}
      <ul aria-label="Changed files" className="flex flex-col gap-1">
        {files.slice(0, shownMax).map((file) => (
          <li key={file.path} className="flex items-center gap-2">
            <FileName session={session} file={file} />
            {!file.is_pushed && (
              <span
                role="img"
                aria-label="not pushed"
                title="Not pushed"
                className="size-1.5 flex-none rounded-full bg-warn"
              />
            )}
            {file.binary ? <span className="text-xs text-faint">binary</span> : <Stat {...file} />}
          </li>
        ))}
      </ul>
      {hidden > 0 && <p className="mt-1 text-sm text-faint">{hidden} more</p>}
      {data?.notes.map((note) => (
        <p key={note} className="mt-2 text-sm text-dim">
          {note}
        </p>
      ))}
      <div className="flex flex-wrap gap-x-2">
        {files.length > 0 && (
          <Button className="mt-2" onClick={() => setOpen(true)}>
            Open diff
          </Button>
        )}
        {/* On a phone the bar has no room for it. */}
        <Link
          to={paths.sessionFiles}
          params={{ project: slug, sessionId: session.session_id }}
          className={`${buttonClass()} mt-2 sm:hidden`}
        >
          Browse files
        </Link>
      </div>
      <Suspense fallback={<Opening />}>
        {isOpen && <DiffDialog session={session} onClose={() => setOpen(false)} />}
      </Suspense>
    </PanelSection>
  )
}

/** After a restart, while the banner offers to restore the work. */
function NotRestored({ session }: { session: Session }) {
  const { data } = useQuery(unfinishedWork(session))
  const saved = session.status === 'running' ? unfinishedOf(session, data) : null
  if (saved === null) return null
  return (
    <p className="mb-2 text-sm text-warn">
      Saved work is not in the work tree yet: {amountOf(saved)}. Select “Restore work” to get it back.
    </p>
  )
}

/** Leads to the file as it is now, except for a deleted one. */
function FileName({ session, file }: { session: Session; file: Changes['files'][number] }) {
  const { slug } = useProject()
  const { path, status, is_pushed: isPushed } = file
  const name = (
    <code
      className={`font-mono text-xs ${status === 'deleted' ? 'line-through' : ''}`}
      title={`${path}: ${status}${isPushed ? '' : ', not pushed'}`}
    >
      {visibleName(path)}
    </code>
  )
  if (status === 'deleted') return <span className="min-w-0 flex-1 truncate">{name}</span>
  return (
    <Link
      to={paths.sessionFiles}
      params={{ project: slug, sessionId: session.session_id }}
      search={{ path }}
      className="min-w-0 flex-1 truncate hover:underline"
    >
      {name}
    </Link>
  )
}

function summaryOf({ files, files_changed: changed, unpushed_commits: commits }: Changes): string {
  if (changed === 0) return ''
  const unpushed = files.filter(({ is_pushed: isPushed }) => !isPushed).length
  // The list ends somewhere.
  const least = files.length < changed ? 'at least ' : ''
  if (unpushed > 0) return `not pushed: ${least}${unpushed} ${unpushed === 1 ? 'file' : 'files'}`
  if (commits > 0) return `not pushed: ${commits} ${commits === 1 ? 'commit' : 'commits'}`
  return 'all pushed'
}
