import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../../api.ts'
import { Failure, QueryResult } from '../../../components/requests.tsx'
import { useStored } from '../../../browser/use-stored.ts'
import { type ChangeRequest, type Diff, diff } from '../queries.ts'
import { Empty, Notice } from '../../../ui/layout.tsx'
import { type ChangedFile, useChangedFiles } from './changed-files.ts'
import { wholeFile } from '../diff/context.ts'
import { useDrafts } from '../review/drafts.ts'
import { type Viewed, useLastViewed } from './last-viewed.ts'
import { isPicture, PlainFiles } from '../diff/plain-files.tsx'
import { SendReview } from '../review/send-review.tsx'
import { AllChanges, SinceLabel } from './since-label.tsx'
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx'
import { Toggle, Toolbar, useView, type View } from './toolbar.tsx'
import { FileTree } from './tree.tsx'
import { Highlighting, Viewer, type ViewerHandle } from '../diff/viewer.tsx'

const noMarks: Record<string, string> = {}

interface Since {
  /** Show only changes after this head. */
  since: string | null
  onSince: (since: string | null) => void
}

export default function FilesTab({ cr, since, onSince }: Since & { cr: ChangeRequest }) {
  const [view, setView] = useView()
  // The previous diff stays until the next one arrives, so that a pressed button keeps the focus.
  const found = useQuery({
    ...diff(cr, { since, ignoreWhitespace: view.ignoreWhitespace }),
    placeholderData: (before) => (before?.cr_id === cr.cr_id ? before : undefined),
  })
  const lastViewed = useLastViewed(cr.cr_id, found.isPlaceholderData ? null : (found.data?.head_sha ?? null))
  if (since !== null && isUnknownSince(found.error)) return <UnknownSince error={found.error} />
  return (
    <Highlighting>
      <QueryResult of={found} what="the diff">
        {(data) => (
          <Files
            cr={cr}
            diff={data}
            busy={found.isPlaceholderData}
            lastViewed={lastViewed}
            since={since}
            onSince={onSince}
            view={view}
            onView={setView}
          />
        )}
      </QueryResult>
    </Highlighting>
  )
}

interface Compared {
  cr: ChangeRequest
  diff: Diff
  /** The head that was viewed before this one. */
  lastViewed: Viewed | null
}

interface Options extends Since {
  view: View
  onView: (view: View) => void
  /** The diff for the new options is still loading. */
  busy: boolean
}

function Files({ cr, diff, lastViewed, since, onSince, view, onView, busy }: Compared & Options) {
  const [isRendered, setRendered] = useState(false)
  const files = useChangedFiles(diff, isRendered)
  const { viewer, current, show, step } = useCurrentFile(files)
  const { isViewed, toggleViewed } = useViewedMarks(cr.cr_id)
  const drafts = useDrafts(cr.cr_id)
  const context = useContextLines(cr.project_id, diff.head_sha)
  const [areKeysShown, setKeysShown] = useState(false)
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    n: () => step(1, (file) => !isViewed(file)),
    v: () => current !== null && toggleViewed(current),
    c: () => {
      const start = current?.view?.hunks[0]?.additionStart
      if (current !== null && start !== undefined) drafts.begin(current, { start, end: start, side: 'additions' })
    },
    s: () => onView({ ...view, layout: view.layout === 'split' ? 'unified' : 'split' }),
    w: () => onView({ ...view, ignoreWhitespace: !view.ignoreWhitespace }),
    '?': () => setKeysShown(true),
  })
  return (
    <div className="flex flex-col gap-3">
      <Toolbar view={view} onView={onView} onKeys={() => setKeysShown(true)} busy={busy}>
        <p className="min-w-40 flex-1 text-sm text-dim" role="status">
          {files.filter(isViewed).length} of {files.length} files viewed
        </p>
        {lastViewed !== null && lastViewed.sha !== diff.head_sha && (
          <Toggle on={since === lastViewed.sha} onChange={(on) => onSince(on ? lastViewed.sha : null)}>
            Since your last visit
          </Toggle>
        )}
        {current !== null && (
          <Toggle on={isViewed(current)} onChange={() => toggleViewed(current)}>
            Viewed
          </Toggle>
        )}
      </Toolbar>
      <Omissions cr={cr} diff={diff} lastViewed={lastViewed} />
      {context.failed !== null && <Failure error={context.failed} />}
      {files.length === 0 ? (
        <Empty>{emptyText(diff)}</Empty>
      ) : (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4 md:grid-cols-[16rem_minmax(0,1fr)]">
          <div className="max-h-60 md:max-h-[calc(100dvh-9rem)]">
            <FileTree files={files} viewed={isViewed} current={current?.path ?? null} onPick={show} />
          </div>
          <div className="flex min-w-0 flex-col gap-3">
            <div className="h-[calc(100dvh-9rem)] min-h-80">
              <Viewer
                ref={viewer}
                files={files}
                view={view}
                collapsed={isViewed}
                drafts={drafts}
                load={context.load}
                onRendered={() => setRendered(true)}
              />
            </div>
            <PlainFiles projectId={cr.project_id} diff={diff} files={files.filter(isPlain)} />
          </div>
        </div>
      )}
      <SendReview cr={cr} headSha={diff.head_sha} drafts={drafts} />
      <ShortcutsDialog open={areKeysShown} onOpenChange={setKeysShown} />
    </div>
  )
}

const isPlain = (file: ChangedFile) => file.reason !== null || isPicture(file)

function emptyText({ whitespace_only, since }: Diff): string {
  if (whitespace_only !== undefined && whitespace_only.length > 0) return 'Only whitespace changed.'
  return since === undefined ? 'No changes.' : 'No changes since then.'
}

function Omissions({ cr, diff, lastViewed }: Compared) {
  return (
    <>
      {diff.since !== undefined && <SinceLabel since={diff.since} baseRef={cr.base_ref} lastViewed={lastViewed} />}
      {diff.whitespace_only !== undefined && <WhitespaceNote paths={diff.whitespace_only} />}
      {diff.truncated && (
        <Notice tone="warn" title="This change is too large to show in full">
          All files are listed, but some diffs are omitted. To see all of it, run: svc cr diff {cr.number}
        </Notice>
      )}
    </>
  )
}

/** The file that the reader chose last, and the way to the others. */
function useCurrentFile(files: ChangedFile[]) {
  const viewer = useRef<ViewerHandle>(null)
  const target = useRef<string | null>(null)
  const [path, setPath] = useState<string | null>(null)
  const scrollToTarget = () => {
    const id = target.current
    if (id === null || viewer.current === null || files.find(({ path }) => path === id)?.unread != null) return
    target.current = null
    viewer.current.scrollTo({ type: 'item', id, align: 'start', behavior: 'instant' })
  }
  // A file that is still being read is scrolled to once it is read.
  useEffect(scrollToTarget, [files])
  const show = (path: string) => {
    setPath(path)
    target.current = path
    scrollToTarget()
  }
  const at = files.findIndex((file) => file.path === path)
  const step = (by: number, fits: (file: ChangedFile) => boolean = () => true) => {
    const rest = by > 0 ? files.slice(at + 1) : files.slice(0, Math.max(at, 0)).toReversed()
    const next = rest.find(fits)
    if (next !== undefined) show(next.path)
  }
  return { viewer, current: files[at] ?? null, show, step }
}

/** The viewed files, stored in this browser. A mark applies to one version of a file. */
function useViewedMarks(crId: string) {
  const [marks, setMarks] = useStored(`svc-viewed-${crId}`, noMarks)
  const isViewed = useCallback((file: ChangedFile) => marks[file.path] === file.version, [marks])
  const toggleViewed = (file: ChangedFile) =>
    setMarks(({ [file.path]: mark, ...others }) =>
      mark === file.version ? others : { ...others, [file.path]: file.version },
    )
  return { isViewed, toggleViewed }
}

/** The service does not have this commit. */
function isUnknownSince(error: Error | null): error is ApiError {
  const issues = error instanceof ApiError ? error.detail.issues : undefined
  return Array.isArray(issues) && issues.some((issue: { path?: unknown }) => issue.path === 'since')
}

function UnknownSince({ error }: { error: ApiError }) {
  return (
    <Notice tone="warn" title={error.message} action={<AllChanges />}>
      Changes since that commit can't be shown.
    </Notice>
  )
}

/** Loads a whole file to show more context, and keeps the error if that fails. */
function useContextLines(projectId: string, headSha: string) {
  const [failed, setFailed] = useState<Error | null>(null)
  const load = useCallback(
    (view: NonNullable<ChangedFile['view']>) =>
      wholeFile(projectId, headSha, view).then(
        (files) => {
          setFailed(null)
          return files
        },
        (error: Error) => {
          setFailed(error)
          throw error
        },
      ),
    [projectId, headSha],
  )
  return { load, failed }
}

const namedMax = 5

function WhitespaceNote({ paths }: { paths: string[] }) {
  const named = paths.slice(0, namedMax).join(', ')
  const more = paths.length - namedMax
  return (
    <p className="text-sm break-words text-dim" role="status">
      Whitespace changes are hidden.
      {paths.length > 0 &&
        ` ${paths.length === 1 ? '1 file has' : `${paths.length} files have`} no other changes: ${named}${more > 0 ? ` and ${more} more` : ''}.`}
    </p>
  )
}
