import type { SelectedLineRange } from '@pierre/diffs'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../../api.ts'
import { QueryResult } from '../../../components/query-result.tsx'
import { Failure } from '../../../components/failure.tsx'
import { useStored } from '../../../browser/use-stored.ts'
import { type ChangeRequest, type Diff, diff } from '../queries.ts'
import { Empty } from '../../../ui/card.tsx'
import { Notice } from '../../../ui/notice.tsx'
import type { ChangedFile } from './changed-files.ts'
import { wholeFile } from '../diff/context.ts'
import { draftAt } from '../review/draft-at.ts'
import { type DraftComment, useDrafts } from '../review/drafts.ts'
import { type Viewed, useLastViewed } from './last-viewed.ts'
import { isPicture, PlainFiles } from '../diff/plain-files.tsx'
import { SendReview } from '../review/send-review.tsx'
import { AllChanges, SinceLabel } from './since-label.tsx'
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx'
import { Toggle, Toolbar, type View } from './toolbar.tsx'
import { FileTree } from './tree.tsx'
import { useChangedFiles } from './use-changed-files.ts'
import { ignoreWhitespace as stored } from '../diff/whitespace.ts'
import { Highlighting, Viewer, type ViewerHandle } from '../diff/viewer.tsx'

const noMarks: Record<string, string> = {}

export default function FilesTab({
  projectId,
  cr,
  since,
  onSince,
}: {
  projectId: string
  cr: ChangeRequest
  /** Show only changes after this head. */
  since: string | null
  onSince: (since: string | null) => void
}) {
  const [ignoreWhitespace, setIgnoreWhitespace] = useStored(...stored)
  // The previous diff stays until the next one arrives, so that a pressed button keeps the focus.
  const found = useQuery({
    ...diff(projectId, cr, { since, ignoreWhitespace }),
    placeholderData: (before) => (before?.cr_id === cr.cr_id ? before : undefined),
  })
  const lastViewed = useLastViewed(cr.cr_id, found.isPlaceholderData ? null : (found.data?.head_sha ?? null))
  if (since !== null && isUnknownSince(found.error)) return <UnknownSince error={found.error} />
  return (
    <Highlighting>
      <QueryResult of={found} what="the diff">
        {(data) => (
          <Files
            projectId={projectId}
            cr={cr}
            diff={data}
            lastViewed={lastViewed}
            since={since}
            onSince={onSince}
            busy={found.isPlaceholderData}
            ignoreWhitespace={ignoreWhitespace}
            onIgnoreWhitespace={setIgnoreWhitespace}
          />
        )}
      </QueryResult>
    </Highlighting>
  )
}

function Files({
  projectId,
  cr,
  diff,
  lastViewed,
  since,
  onSince,
  busy,
  ignoreWhitespace,
  onIgnoreWhitespace,
}: {
  projectId: string
  cr: ChangeRequest
  diff: Diff
  lastViewed: Viewed | null
  since: string | null
  onSince: (since: string | null) => void
  busy: boolean
  ignoreWhitespace: boolean
  onIgnoreWhitespace: (on: boolean) => void
}) {
  const [isRendered, setRendered] = useState(false)
  const files = useChangedFiles(diff, isRendered)
  const headSha = diff.head_sha
  const viewer = useRef<ViewerHandle>(null)
  const scrollTarget = useRef<string | null>(null)
  const [current, setCurrent] = useState<string | null>(null)
  const [openDraft, setOpenDraft] = useState<string | null>(null)
  const [areKeysShown, setKeysShown] = useState(false)
  const [layout, setLayout] = useStored<'split' | 'unified'>('svc-diff-layout', innerWidth < 900 ? 'unified' : 'split')
  const [wrap, setWrap] = useStored('svc-diff-wrap', false)
  const [marks, setMarks] = useStored(`svc-viewed-${cr.cr_id}`, noMarks)
  const { drafts, save, remove, clear } = useDrafts(cr.cr_id)
  const isViewed = useCallback((file: ChangedFile) => marks[file.path] === file.version, [marks])
  const viewedCount = files.filter(isViewed).length
  const context = useContextLines(projectId, headSha)

  const show = (path: string) => {
    setCurrent(path)
    scrollTarget.current = path
    scrollToWanted(viewer.current, scrollTarget, files)
  }
  // A file that is still being read is scrolled to once it is read.
  useEffect(() => scrollToWanted(viewer.current, scrollTarget, files), [files])
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
  const view: View = { layout, wrap, ignoreWhitespace }
  const setView = (next: View) => {
    setLayout(next.layout)
    setWrap(next.wrap)
    onIgnoreWhitespace(next.ignoreWhitespace)
  }
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
    s: () => setView({ ...view, layout: layout === 'split' ? 'unified' : 'split' }),
    w: () => setView({ ...view, ignoreWhitespace: !ignoreWhitespace }),
    '?': () => setKeysShown(true),
  })
  return (
    <div className="flex flex-col gap-3">
      <Toolbar view={view} onView={setView} onKeys={() => setKeysShown(true)} busy={busy}>
        <p className="min-w-40 flex-1 text-sm text-dim" role="status">
          {viewedCount} of {files.length} files viewed
        </p>
        {lastViewed !== null && lastViewed.sha !== headSha && (
          <Toggle on={since === lastViewed.sha} onChange={(on) => onSince(on ? lastViewed.sha : null)}>
            Since your last visit
          </Toggle>
        )}
        {currentFile !== null && (
          <Toggle on={isViewed(currentFile)} onChange={() => toggleViewed(currentFile)}>
            Viewed
          </Toggle>
        )}
      </Toolbar>
      {diff.since !== undefined && <SinceLabel since={diff.since} baseRef={cr.base_ref} lastViewed={lastViewed} />}
      {diff.whitespace_only !== undefined && <WhitespaceNote paths={diff.whitespace_only} />}
      {diff.truncated && (
        <Notice tone="warn" title="This change is too large to show in full">
          All files are listed, but some diffs are omitted. To see all of it, run: svc cr diff {cr.number}
        </Notice>
      )}
      {context.failed !== null && <Failure error={context.failed} />}
      {files.length === 0 ? (
        <Empty>
          {diff.whitespace_only?.length
            ? 'Only whitespace changed.'
            : diff.since === undefined
              ? 'No changes.'
              : 'No changes since then.'}
        </Empty>
      ) : (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4 md:grid-cols-[16rem_minmax(0,1fr)]">
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
                load={context.load}
                onRendered={() => setRendered(true)}
                onComment={comment}
                onSave={(draft: DraftComment, text: string) => {
                  save({ ...draft, text })
                  setOpenDraft(null)
                }}
                onRemove={(draft: DraftComment) => {
                  remove(draft.id)
                  setOpenDraft(null)
                }}
                onEdit={(draft: DraftComment) => setOpenDraft(draft.id)}
              />
            </div>
            <PlainFiles
              projectId={projectId}
              from={diff.merge_base ?? diff.base_sha}
              to={headSha}
              files={files.filter((file) => file.reason !== null || isPicture(file))}
            />
          </div>
        </div>
      )}
      <SendReview projectId={projectId} cr={cr} headSha={headSha} drafts={drafts} onSent={clear} />
      <ShortcutsDialog open={areKeysShown} onOpenChange={setKeysShown} />
    </div>
  )
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

function scrollToWanted(
  viewer: ViewerHandle | null,
  scrollTarget: { current: string | null },
  files: ChangedFile[],
): void {
  const id = scrollTarget.current
  if (id === null || viewer === null || files.find(({ path }) => path === id)?.unread != null) return
  scrollTarget.current = null
  viewer.scrollTo({ type: 'item', id, align: 'start', behavior: 'instant' })
}
