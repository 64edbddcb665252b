/** The changes of a session as a diff, with the viewer of a change request. */
import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useMemo } from 'react'
import { QueryResult } from '../../../components/requests.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { linkClass } from '../../../components/links.tsx'
import { paths } from '../../../paths.ts'
import { Stat } from '../../../ui/stat.tsx'
import { ReadOnlyDiff } from '../../change-requests/diff/read-only.tsx'
import { type Changes, changesWithPatch, type Session } from '../queries.ts'

export default function DiffDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const found = useQuery(changesWithPatch(session))
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Dialog.Popup className="fixed inset-2 z-50 flex flex-col overflow-hidden rounded-lg border border-edge bg-raised shadow-float outline-none md:inset-8">
          <header className="flex items-center gap-3 border-b border-line px-4 py-2">
            <Dialog.Title className="font-semibold">Changes</Dialog.Title>
            <p className="min-w-0 flex-1 truncate text-sm text-dim">compared with {session.base_ref}</p>
            {found.data !== undefined && <Stat {...found.data} />}
            <Dialog.Close
              aria-label="Close"
              className="grid size-control place-items-center rounded-md text-dim hover:bg-hover"
            >
              <X aria-hidden className="size-4" />
            </Dialog.Close>
          </header>
          {/* The tree sticks below the bar of a page, and here to the top. */}
          <div className="min-h-0 flex-1 overflow-y-auto p-4 [--spacing-bar:-1rem]">
            <QueryResult of={found} what="the diff">
              {(changes) => <Files session={session} changes={changes} />}
            </QueryResult>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Files({ session, changes }: { session: Session; changes: Changes }) {
  const { slug } = useProject()
  const { base, head, files, patch, truncated } = changes
  const compared = useMemo(
    () => ({ base_sha: base ?? '', merge_base: base, head_sha: head ?? '', files, patch, truncated }),
    [base, head, files, patch, truncated],
  )
  const unpushed = new Set(files.filter(({ is_pushed: isPushed }) => !isPushed).map(({ path }) => path))
  return (
    <div className="flex flex-col gap-3">
      {truncated && <p className="text-sm text-dim">The change is too large to show whole.</p>}
      <ReadOnlyDiff
        projectId={session.project_id}
        changes={compared}
        hasTree
        // The project has what was pushed.
        hasContext={unpushed.size === 0 && changes.unpushed_commits === 0}
        aside={({ path, status }) => (
          <>
            {unpushed.has(path) && <span className="text-xs text-warn @max-md:sr-only">not pushed</span>}
            {status !== 'deleted' && (
              <Link
                to={paths.sessionFiles}
                params={{ project: slug, sessionId: session.session_id }}
                search={{ path }}
                className={linkClass}
              >
                View file
              </Link>
            )}
          </>
        )}
      />
    </div>
  )
}
