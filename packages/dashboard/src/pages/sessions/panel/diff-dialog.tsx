/** The changes of a session as a diff, file by file. */
import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { QueryResult } from '../../../components/requests.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Stat } from '../../../ui/stat.tsx'
import { DiffLines } from '../conversation/diff-lines.tsx'
import { type Changes, changesWithPatch, type Session } from '../queries.ts'
import { splitPatch } from './split-patch.ts'

/** Later files begin folded, so that the dialog opens at once. */
const openMax = 20

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
          <div className="min-h-0 flex-1 overflow-y-auto p-4">
            <QueryResult of={found} what="the diff">
              {(changes) => <Files changes={changes} />}
            </QueryResult>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Files({ changes }: { changes: Changes }) {
  const patches = splitPatch(changes.patch ?? '')
  return (
    <div className="flex flex-col gap-3">
      {changes.truncated && <p className="text-sm text-dim">The change is too large to show whole.</p>}
      {changes.files.map((file, at) => {
        const patch = patches.get(file.path)
        return (
          <details
            key={file.path}
            open={at < openMax}
            className="overflow-hidden rounded-md border border-line bg-panel"
          >
            <summary className="flex cursor-pointer items-center gap-2 bg-side px-3 py-1.5">
              <code className="min-w-0 flex-1 truncate font-mono text-xs">{visibleName(file.path)}</code>
              <span className="text-xs text-faint">
                {file.status}
                {file.is_pushed ? '' : ', not pushed'}
              </span>
              {!file.binary && <Stat {...file} />}
            </summary>
            {patch === undefined ? (
              <p className="px-3 py-2 text-sm text-dim">
                {file.binary ? 'Binary file' : 'Not in this diff: too large.'}
              </p>
            ) : (
              <DiffLines diff={patch} label={`Diff of ${file.path}`} />
            )}
          </details>
        )
      })}
    </div>
  )
}
