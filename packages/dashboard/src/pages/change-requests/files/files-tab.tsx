import type { SelectedLineRange } from '@pierre/diffs'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../../api.ts'
import { Answer } from '../../../components/answer.tsx'
import { Failure } from '../../../components/failure.tsx'
import { useKept } from '../../../kept.ts'
import { type ChangeRequest, type Diff, diff } from '../../../queries.ts'
import { Empty } from '../../../ui/card.tsx'
import { Notice } from '../../../ui/notice.tsx'
import type { ChangedFile } from './changed-files.ts'
import { wholeFile } from './context.ts'
import { draftAt } from './draft-at.ts'
import { type DraftComment, useDrafts } from './drafts.ts'
import { type Look, useLooks } from './looked.ts'
import { isPicture, PlainFiles } from './plain-files.tsx'
import { SendReview } from './send-review.tsx'
import { AllOfIt, SinceWords } from './since-words.tsx'
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx'
import { Toggle, Toolbar, type View } from './toolbar.tsx'
import { FileTree } from './tree.tsx'
import { useChangedFiles } from './use-changed-files.ts'
import { useIgnoreWhitespace } from './whitespace.ts'
import { Highlighting, Viewer, type ViewerHandle } from './viewer.tsx'

const noMarks: Record<string, string> = {}

export default function FilesTab({
  projectId,
  cr,
  since,
  onSince,
}: {
  projectId: string
  cr: ChangeRequest
  /** Only what came after this head. */
  since: string | null
  onSince: (since: string | null) => void
}) {
  const [ignoreWhitespace, setIgnoreWhitespace] = useIgnoreWhitespace()
  // What was asked for before stays until the next is there, so that whoever pressed a button keeps the focus on it.
  const found = useQuery({
    ...diff(projectId, cr, { since, ignoreWhitespace }),
    placeholderData: (before) => (before?.cr_id === cr.cr_id ? before : undefined),
  })
  const look = useLooks(cr.cr_id, found.isPlaceholderData ? null : (found.data?.head_sha ?? null))
  if (since !== null && isRefusedSince(found.error)) return <GoneSince error={found.error} />
  return (
    <Highlighting>
      <Answer of={found} what="the changes">
        {(data) => (
          <Files
            projectId={projectId}
            cr={cr}
            diff={data}
            look={look}
            since={since}
            onSince={onSince}
            busy={found.isPlaceholderData}
            ignoreWhitespace={ignoreWhitespace}
            onIgnoreWhitespace={setIgnoreWhitespace}
          />
        )}
      </Answer>
    </Highlighting>
  )
}

function Files({
  projectId,
  cr,
  diff,
  look,
  since,
  onSince,
  busy,
  ignoreWhitespace,
  onIgnoreWhitespace,
}: {
  projectId: string
  cr: ChangeRequest
  diff: Diff
  look: Look | null
  since: string | null
  onSince: (since: string | null) => void
  busy: boolean
  ignoreWhitespace: boolean
  onIgnoreWhitespace: (on: boolean) => void
}) {
  const [isDrawn, setDrawn] = useState(false)
  const files = useChangedFiles(diff, isDrawn)
  const headSha = diff.head_sha
  const viewer = useRef<ViewerHandle>(null)
  const wanted = useRef<string | null>(null)
  const [current, setCurrent] = useState<string | null>(null)
  const [openDraft, setOpenDraft] = useState<string | null>(null)
  const [keysShown, setKeysShown] = useState(false)
  const [layout, setLayout] = useKept<'split' | 'unified'>('svc-diff-layout', innerWidth < 900 ? 'unified' : 'split')
  const [wrap, setWrap] = useKept('svc-diff-wrap', false)
  const [marks, setMarks] = useKept(`svc-viewed-${cr.cr_id}`, noMarks)
  const { drafts, save, remove, clear } = useDrafts(cr.cr_id)
  const isViewed = useCallback((file: ChangedFile) => marks[file.path] === file.version, [marks])
  const viewedCount = files.filter(isViewed).length
  const context = useContextLines(projectId, headSha)

  const show = (path: string) => {
    setCurrent(path)
    wanted.current = path
    scrollToWanted(viewer.current, wanted, files)
  }
  // One that was not read yet comes within moments, and is scrolled to then.
  useEffect(() => scrollToWanted(viewer.current, wanted, files), [files])
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
        {look !== null && look.sha !== headSha && (
          <Toggle on={since === look.sha} onChange={(on) => onSince(on ? look.sha : null)}>
            Since you last looked
          </Toggle>
        )}
        {currentFile !== null && (
          <Toggle on={isViewed(currentFile)} onChange={() => toggleViewed(currentFile)}>
            Viewed
          </Toggle>
        )}
      </Toolbar>
      {diff.since !== undefined && <SinceWords since={diff.since} baseRef={cr.base_ref} look={look} />}
      {diff.whitespace_only !== undefined && <LeftOut paths={diff.whitespace_only} />}
      {diff.truncated && (
        <Notice tone="warn" title="This change is too large to show whole.">
          All files are listed; the patch of some is left out. The whole of it: svc cr diff {cr.number}
        </Notice>
      )}
      {context.failed !== null && <Failure error={context.failed} />}
      {files.length === 0 ? (
        <Empty>
          {diff.whitespace_only?.length
            ? 'Nothing but whitespace is changed.'
            : diff.since === undefined
              ? 'Nothing is changed.'
              : 'Nothing was changed since.'}
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
                onDrawn={() => setDrawn(true)}
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
      <ShortcutsDialog open={keysShown} onOpenChange={setKeysShown} />
    </div>
  )
}

/** The service does not know that commit, or not any more. */
function isRefusedSince(error: Error | null): error is ApiError {
  const issues = error instanceof ApiError ? error.detail.issues : undefined
  return Array.isArray(issues) && issues.some((issue: { path?: unknown }) => issue.path === 'since')
}

function GoneSince({ error }: { error: ApiError }) {
  return (
    <Notice tone="warn" title={error.message} action={<AllOfIt />}>
      So what came after it cannot be told apart.
    </Notice>
  )
}

/** Loads the whole of a file when lines around its changes are asked for, and keeps why it could not. */
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

function LeftOut({ paths }: { paths: string[] }) {
  const named = paths.slice(0, namedMax).join(', ')
  const more = paths.length - namedMax
  return (
    <p className="text-sm break-words text-dim" role="status">
      Lines that differ in whitespace alone are shown as the same.
      {paths.length > 0 &&
        ` ${paths.length === 1 ? '1 file changes' : `${paths.length} files change`} nothing else and ${paths.length === 1 ? 'is' : 'are'} left out: ${named}${more > 0 ? ` and ${more} more` : ''}.`}
    </p>
  )
}

function scrollToWanted(viewer: ViewerHandle | null, wanted: { current: string | null }, files: ChangedFile[]): void {
  const id = wanted.current
  if (id === null || viewer === null || files.find(({ path }) => path === id)?.unread != null) return
  wanted.current = null
  viewer.scrollTo({ type: 'item', id, align: 'start', behavior: 'instant' })
}
