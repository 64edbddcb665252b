import type { SelectedLineRange } from '@pierre/diffs'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useState } from 'react'
import { Answer } from '../../../components/answer.tsx'
import { useKept } from '../../../kept.ts'
import { type ChangeRequest, diff } from '../../../queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/card.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { type ChangedFile, changedFiles } from './changed-files.ts'
import { type DraftComment, useDrafts } from './drafts.ts'
import { PlainFiles } from './plain-files.tsx'
import { SendReview } from './send-review.tsx'
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx'
import { FileTree } from './tree.tsx'
import { Viewer, type ViewerHandle } from './viewer.tsx'

const noMarks: Record<string, string> = {}

export default function FilesTab({
  projectId,
  cr,
  since,
}: {
  projectId: string
  cr: ChangeRequest
  since: string | null
}) {
  const found = useQuery(diff(projectId, cr, since))
  const files = useMemo(() => (found.data === undefined ? [] : changedFiles(found.data)), [found.data])
  return (
    <Answer of={found} what="the changes">
      {({ head_sha, truncated }) =>
        files.length === 0 ? (
          <Empty>Nothing is changed.</Empty>
        ) : (
          <Files projectId={projectId} cr={cr} files={files} headSha={head_sha} truncated={truncated} />
        )
      }
    </Answer>
  )
}

function Files({
  projectId,
  cr,
  files,
  headSha,
  truncated,
}: {
  projectId: string
  cr: ChangeRequest
  files: ChangedFile[]
  headSha: string
  truncated: boolean
}) {
  const viewer = useRef<ViewerHandle>(null)
  const [current, setCurrent] = useState<string | null>(null)
  const [openDraft, setOpenDraft] = useState<string | null>(null)
  const [keysShown, setKeysShown] = useState(false)
  const [layout, setLayout] = useKept<'split' | 'unified'>('svc-diff-layout', innerWidth < 900 ? 'unified' : 'split')
  const [wrap, setWrap] = useKept('svc-diff-wrap', false)
  const [marks, setMarks] = useKept(`svc-viewed-${cr.cr_id}`, noMarks)
  const { drafts, save, remove, clear } = useDrafts(cr.cr_id)
  const isViewed = useCallback((file: ChangedFile) => marks[file.path] === file.version, [marks])
  const viewedCount = files.filter(isViewed).length

  const show = (path: string) => {
    setCurrent(path)
    viewer.current?.scrollTo({ type: 'item', id: path, align: 'start', behavior: 'instant' })
  }
  const step = (by: number, fits: (file: ChangedFile) => boolean = () => true) => {
    const at = files.findIndex(({ path }) => path === current)
    const rest = by > 0 ? files.slice(at + 1) : files.slice(0, Math.max(at, 0)).toReversed()
    const next = rest.find(fits)
    if (next !== undefined) show(next.path)
  }
  const toggleViewed = (file: ChangedFile) => {
    setMarks(({ [file.path]: mark, ...others }) =>
      mark === file.version ? others : { ...others, [file.path]: file.version },
    )
  }
  const comment = useCallback(
    (file: ChangedFile, range: SelectedLineRange) => {
      const draft = draftAt(file, range)
      setOpenDraft(draft.id)
      save(draft)
    },
    [save],
  )
  const currentFile = files.find(({ path }) => path === current) ?? null
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    n: () => step(1, (file) => !isViewed(file)),
    v: () => currentFile !== null && toggleViewed(currentFile),
    c: () => {
      const hunk = currentFile?.view?.hunks[0]
      if (currentFile !== null && hunk !== undefined)
        comment(currentFile, { start: hunk.additionStart, end: hunk.additionStart, side: 'additions' })
    },
    s: () => setLayout(layout === 'split' ? 'unified' : 'split'),
    '?': () => setKeysShown(true),
  })
  const pressed = 'aria-pressed:bg-sunken'
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-40 flex-1 text-sm text-dim" role="status">
          {viewedCount} of {files.length} files viewed
        </p>
        {currentFile !== null && (
          <Button onClick={() => toggleViewed(currentFile)} aria-pressed={isViewed(currentFile)} className={pressed}>
            Viewed
          </Button>
        )}
        <Button onClick={() => setWrap(!wrap)} aria-pressed={wrap} className={pressed}>
          Wrap lines
        </Button>
        <Button onClick={() => setLayout(layout === 'split' ? 'unified' : 'split')}>
          {layout === 'split' ? 'One column' : 'Side by side'}
        </Button>
        <Button kind="quiet" onClick={() => setKeysShown(true)} aria-label="Keys">
          ?
        </Button>
      </div>
      {truncated && (
        <Notice tone="warn" title="This change is too large to show whole.">
          All files are listed; the patch of some is left out. The whole of it: svc cr diff {cr.number}
        </Notice>
      )}
      <div className="grid gap-4 md:grid-cols-[16rem_minmax(0,1fr)]">
        <div className="max-h-60 md:max-h-[calc(100dvh-9rem)]">
          <FileTree files={files} viewed={isViewed} current={current} onPick={show} />
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <div className="h-[calc(100dvh-9rem)] min-h-80">
            <Viewer
              ref={viewer}
              files={files}
              layout={layout}
              wrap={wrap}
              collapsed={isViewed}
              drafts={drafts}
              openDraft={openDraft}
              onComment={comment}
              onSave={(draft, text) => {
                save({ ...draft, text })
                setOpenDraft(null)
              }}
              onRemove={(draft) => {
                remove(draft.id)
                setOpenDraft(null)
              }}
              onEdit={(draft) => setOpenDraft(draft.id)}
            />
          </div>
          <PlainFiles projectId={projectId} cr={cr} files={files.filter(({ view }) => view === null)} />
        </div>
      </div>
      <SendReview projectId={projectId} cr={cr} headSha={headSha} drafts={drafts} onSent={clear} />
      <ShortcutsDialog open={keysShown} onOpenChange={setKeysShown} />
    </div>
  )
}

function draftAt(file: ChangedFile, range: SelectedLineRange): DraftComment {
  const side = (range.endSide ?? range.side) === 'deletions' ? 'old' : 'new'
  const [first, last] = [Math.min(range.start, range.end), Math.max(range.start, range.end)]
  return {
    id: crypto.randomUUID(),
    path: side === 'old' ? (file.oldPath ?? file.path) : file.path,
    side,
    line: last,
    start_line: first === last ? null : first,
    quote: quote(file, side, first, last),
    text: '',
  }
}

/** The lines a comment is about, as far as the patch has them. */
function quote({ view }: ChangedFile, side: 'old' | 'new', first: number, last: number): string {
  const hunk = view?.hunks.find((hunk) => {
    const [start, count] =
      side === 'new' ? [hunk.additionStart, hunk.additionCount] : [hunk.deletionStart, hunk.deletionCount]
    return first >= start && last < start + count
  })
  if (view === null || hunk === undefined) return ''
  const [lines, from, start] =
    side === 'new'
      ? [view.additionLines, hunk.additionLineIndex, hunk.additionStart]
      : [view.deletionLines, hunk.deletionLineIndex, hunk.deletionStart]
  return lines
    .slice(from + first - start, from + last - start + 1)
    .map((line) => line.replace(/\r?\n$/, ''))
    .join('\n')
    .slice(0, 4096)
}
