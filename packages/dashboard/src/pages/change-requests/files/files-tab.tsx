import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { type ComponentProps, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../../../api.ts'
import { Failure, QueryResult } from '../../../components/requests.tsx'
import { type ChangeRequest, type Diff, diff, type Review } from '../queries.ts'
import { Button } from '../../../ui/form.tsx'
import { Kbd } from '../../../ui/kbd.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Empty, Loading, Notice } from '../../../ui/layout.tsx'
import { type ChangedFile, useChangedFiles } from './changed-files.ts'
import { useContextLines } from '../diff/context.ts'
import { useDrafts } from '../review/drafts.ts'
import { type Viewed, useLastViewed } from './last-viewed.ts'
import { useLineCursor } from '../diff/line-cursor.ts'
import { movesIn } from '../diff/moves.tsx'
import { isPicture, PlainFiles, showPlain } from '../diff/plain-files.tsx'
import { OriginButton, OriginsOf, useOrigins } from '../origins/use-origins.tsx'
import { useReviewState } from '../review/review-state.ts'
import { ApplyButton } from '../review/suggestion.tsx'
import { LooseThreads, ThreadCardOf, useThreads } from '../review/threads.tsx'
import { writtenByProgram } from '@svc/contract/schemas/generated-files'
import { OlderVersion, type Range, VersionsMenu } from './versions-menu.tsx'
import { SendReview } from '../review/send-review.tsx'
import { AllChanges, SinceLabel } from './since-label.tsx'
import { keyNames } from './key-names.ts'
import { Toggle, Toolbar, useView, type View } from './toolbar.tsx'
import { useReadingOrder } from './reading-order.ts'
import { FileTree } from './tree.tsx'
import { useShortcuts } from '../../../ui/use-shortcuts.ts'
import { Highlighting, Viewer, viewerColumn, type ViewerHandle } from '../diff/viewer.tsx'

interface Compare {
  /** The commits that the diff compares. */
  range: Range
  onRange: (range: Range) => void
}

/** A place to begin at. */
export interface Target {
  path: string
  line: number | null
}

export default function FilesTab({
  cr,
  range,
  onRange,
  target,
}: Compare & { cr: ChangeRequest; target: Target | null }) {
  const { since, to } = range
  const [view, setView] = useView()
  // The previous diff stays until the next one arrives, so that a pressed button keeps the focus.
  const found = useQuery({
    ...diff(cr, { since, to, ignoreWhitespace: view.ignoreWhitespace }),
    placeholderData: (before) => (before?.cr_id === cr.cr_id ? before : undefined),
  })
  const mine = useReviewState(cr)
  const isCurrent = to === null && !found.isPlaceholderData
  const lastViewed = useLastViewed(mine, isCurrent ? (found.data?.head_sha ?? null) : null)
  if ((since ?? to) !== null && isUnknownSince(found.error)) return <UnknownSince error={found.error} />
  return (
    <Highlighting>
      <QueryResult of={found} what="the diff">
        {(data) => (
          <Files
            cr={cr}
            diff={data}
            busy={found.isPlaceholderData}
            failed={data.isWhole || found.isFetching ? null : found}
            lastViewed={lastViewed}
            mine={mine}
            range={range}
            onRange={onRange}
            target={target}
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

interface Options extends Compare {
  target: Target | null
  mine: ReturnType<typeof useReviewState>
  view: View
  onView: (view: View) => void
  /** The diff for the new options is still loading. */
  busy: boolean
  /** The request whose last files did not arrive. */
  failed: Pick<UseQueryResult, 'error' | 'refetch'> | null
}

function Files({ cr, diff: found, lastViewed, mine, range, onRange, view, onView, ...request }: Compared & Options) {
  const [isRendered, setRendered] = useState(false)
  const options = { ...range, ignoreWhitespace: view.ignoreWhitespace }
  const order = useReadingOrder({ cr, diff: found, options, mine }, isRendered && !request.busy)
  const { diff } = order
  const compared = { cr, lastViewed, range, onRange }
  const files = useChangedFiles(diff, isRendered)
  const moves = useMemo(() => movesIn(files, order.moves), [files, order.moves])
  const { viewer, current, show, showLines, step } = useCurrentFile(files, request.target)
  const marks = useViewedMarks(mine, { files, current })
  const { isViewed } = marks
  const drafts = useDrafts(cr.cr_id, mine)
  const folds = useFolds(isViewed)
  const cursor = useLineCursor(current, viewer)
  const threads = useThreads(cr, { diff, files, range })
  const context = useContextLines(cr.project_id, diff.head_sha)
  const origins = useOrigins(viewer, range)
  const tree = view.tree && (
    <FileTree files={files} viewed={isViewed} current={current?.path ?? null} onPick={show} order={order} />
  )
  const noted = { files, folds, marks, onAsk: origins.ask }
  useShortcuts(
    {
      j: () => step(1),
      k: () => step(-1),
      n: () => step(1, (file) => !isViewed(file)),
      v: () => marks.next !== null && marks.toggle(marks.next),
      c: () => cursor.begin(drafts.begin),
      h: () => origins.ask?.(current ?? files[0], cursor.hunk()),
      ArrowDown: () => cursor.move(1),
      ArrowUp: () => cursor.move(-1),
      s: () => onView({ ...view, layout: view.layout === 'split' ? 'unified' : 'split' }),
      w: () => onView({ ...view, ignoreWhitespace: !view.ignoreWhitespace }),
    },
    keyNames,
  )
  return (
    <div className="flex flex-col gap-3">
      <Toolbar view={view} onView={onView} busy={request.busy}>
        <Progress text={counted(diff, files, isViewed) + threads.counted} />
        <Comparison {...compared} headSha={diff.head_sha} reviews={threads.reviews} />
        <ApplyButton cr={cr} threads={threads.applicable} least={2} />
      </Toolbar>
      <Omissions {...compared} diff={diff} />
      <Announcement>{cursor.announcement}</Announcement>
      <Failures of={[mine.error, context.failed, order.error]} last={request.failed} />
      {files.length === 0 ? (
        <Empty>{emptyText(diff)}</Empty>
      ) : order.isWaiting ? (
        <Loading what="the reading order" />
      ) : (
        <BesideTree tree={tree}>
          <LooseThreads cr={cr} items={threads.loose} diff={diff} range={range} />
          {files.some((file) => file.view !== null || isComing(file)) && (
            <div className={viewerColumn(isRendered)}>
              <Viewer
                ref={viewer}
                files={files}
                view={view}
                collapsed={folds.isFolded}
                drafts={drafts}
                threads={threads.placed}
                renderThread={(id) => <ThreadCardOf cr={cr} id={id} items={threads.items} />}
                renderNote={(path) => <FileNote path={path} {...noted} />}
                moves={moves}
                onShowMoved={showLines}
                load={context.load}
                onAskOrigin={origins.ask}
                onRendered={() => setRendered(true)}
              />
            </div>
          )}
          <PlainPart cr={cr} diff={diff} files={files} marks={marks} />
        </BesideTree>
      )}
      <SendReview cr={cr} headSha={diff.head_sha} drafts={drafts} />
      <OriginsOf cr={cr} diff={diff} files={files} of={origins} />
    </div>
  )
}

/** The tree is above the files where it would leave too little of the width. Without it they have all of it. */
function BesideTree({ tree, children }: { tree: ReactNode; children: ReactNode }) {
  const columns = tree === false ? '' : '@2xl:grid-cols-[12rem_minmax(0,1fr)] @5xl:grid-cols-[16rem_minmax(0,1fr)]'
  return (
    <div className={`grid grid-cols-[minmax(0,1fr)] gap-4 ${columns}`}>
      {tree}
      <div className="flex min-w-0 flex-col gap-3">{children}</div>
    </div>
  )
}

/** A picture with lines has its button in the diff. */
function PlainPart({
  cr,
  diff,
  files,
  marks,
}: Omit<Compared, 'lastViewed'> & { files: ChangedFile[]; marks: ViewedMarks }) {
  const aside = (file: ChangedFile) => file.view === null && <ViewedToggle file={file} marks={marks} />
  return <PlainFiles projectId={cr.project_id} diff={diff} files={files.filter(isPlain)} aside={aside} />
}

function Progress({ text }: { text: string }) {
  return (
    <p className="min-w-32 flex-1 text-sm text-dim @max-md:flex-auto" role="status">
      {text}
    </p>
  )
}

function ViewedToggle({ file, marks }: { file: ChangedFile; marks: ViewedMarks }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      {file === marks.next && (
        <span aria-hidden title="The key marks this file" className="max-md:hidden">
          <Kbd>v</Kbd>
        </span>
      )}
      <Toggle
        on={marks.isViewed(file)}
        onChange={() => marks.toggle(file)}
        label={`Viewed: ${visibleName(file.path)}`}
        title="Viewed files are folded"
      >
        <Box isTicked={marks.isViewed(file)} />
        <span className="@max-md:sr-only">Viewed</span>
      </Toggle>
    </span>
  )
}

function Box({ isTicked }: { isTicked: boolean }) {
  return (
    <span
      aria-hidden
      className={`grid size-3.5 flex-none place-items-center rounded-sm border ${isTicked ? 'border-accent-fill bg-accent-fill text-on-fill' : 'border-line-strong bg-panel'}`}
    >
      {isTicked && <Check className="size-3 stroke-3" />}
    </span>
  )
}

/** Stands in the header of a file. */
function FileNote({
  folds,
  marks,
  ...of
}: ComponentProps<typeof OriginButton> & { folds: ReturnType<typeof useFolds>; marks: ViewedMarks }) {
  const file = of.files.find(({ path }) => path === of.path)
  return (
    <span className="flex items-center gap-2 font-sans">
      <FoldNote path={of.path} folds={folds} />
      <OriginButton {...of} />
      {file !== undefined && <ViewedToggle file={file} marks={marks} />}
    </span>
  )
}

/** For screen readers. */
function Announcement({ children }: { children: string }) {
  return (
    <p className="sr-only" role="status">
      {children}
    </p>
  )
}

function Failures({ of, last }: { of: (Error | null)[]; last: Options['failed'] }) {
  return (
    <>
      {of.map((error, at) => error !== null && <Failure key={at} error={error} />)}
      {last !== null && <Failure error={last.error} retry={() => void last.refetch()} />}
    </>
  )
}

function counted({ isWhole }: Diff, files: ChangedFile[], isViewed: (file: ChangedFile) => boolean): string {
  const fits = isWhole ? isViewed : ({ isArriving }: ChangedFile) => !isArriving
  return `${files.filter(fits).length} of ${files.length} ${files.length === 1 ? 'file' : 'files'} ${isWhole ? 'viewed' : 'loaded'}`
}

/** Chooses what the diff starts and ends at. */
function Comparison({
  cr,
  headSha,
  lastViewed,
  reviews,
  range,
  onRange,
}: Compare & { cr: ChangeRequest; headSha: string; lastViewed: Viewed | null; reviews: readonly Review[] }) {
  return (
    <>
      <VersionsMenu cr={cr} range={range} reviews={reviews} lastViewed={lastViewed} onRange={onRange} />
      {lastViewed !== null && lastViewed.sha !== headSha && (
        <Toggle
          on={range.since === lastViewed.sha}
          onChange={(on) => onRange({ since: on ? lastViewed.sha : null, to: null })}
        >
          Since your last visit
        </Toggle>
      )}
    </>
  )
}

const isComing = ({ unread, isArriving }: ChangedFile) => unread !== null || isArriving
const isPlain = (file: ChangedFile) => file.reason !== null || isPicture(file)

function emptyText({ whitespace_only, since }: Diff): string {
  if (whitespace_only !== undefined && whitespace_only.length > 0) return 'Only whitespace changed.'
  return since === undefined ? 'No changes.' : 'No changes since then.'
}

function Omissions({ cr, diff, lastViewed, range, onRange }: Compared & Pick<Options, 'range' | 'onRange'>) {
  return (
    <>
      <OlderVersion cr={cr} range={range} onRange={onRange} />
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
function useCurrentFile(files: ChangedFile[], begin: Target | null) {
  const viewer = useRef<ViewerHandle>(null)
  const target = useRef<Target | null>(begin)
  const [path, setPath] = useState<string | null>(begin?.path ?? null)
  const scrollToTarget = () => {
    if (target.current === null || viewer.current === null) return
    const { path: id, line } = target.current
    const file = files.find(({ path }) => path === id)
    if (file !== undefined && isComing(file)) return
    target.current = null
    viewer.current.scrollTo({ type: 'item', id, align: 'start', behavior: 'instant' })
    if (line === null) return
    const side = 'additions' as const
    viewer.current.setSelectedLines({ id, range: { start: line, end: line, side } })
    viewer.current.scrollTo({ type: 'line', id, lineNumber: line, side, align: 'center', behavior: 'instant' })
  }
  // A file that is still being read is scrolled to once it is read.
  useEffect(scrollToTarget, [files])
  const show = (path: string) => {
    setPath(path)
    if (showPlain(path)) return
    target.current = { path, line: null }
    scrollToTarget()
  }
  /** Chooses the file with these lines, and the lines. */
  const showLines = (
    { path, side, line: first }: { path: string; side: 'old' | 'new'; line: number },
    count: number,
  ) => {
    const file = files.find((each) => each.path === path || (side === 'old' && each.oldPath === path))
    if (file === undefined || viewer.current === null) return
    setPath(file.path)
    const lineSide = side === 'old' ? 'deletions' : 'additions'
    const range = { start: first, end: first + count - 1, side: lineSide } as const
    viewer.current.setSelectedLines({ id: file.path, range })
    viewer.current.scrollTo({
      ...{ type: 'line', id: file.path, lineNumber: first, side: lineSide, align: 'center' },
      behavior: 'instant',
    })
  }
  const at = files.findIndex((file) => file.path === path)
  const step = (by: number, fits: (file: ChangedFile) => boolean = () => true) => {
    const rest = by > 0 ? files.slice(at + 1) : files.slice(0, Math.max(at, 0)).toReversed()
    const next = rest.find(fits)
    if (next !== undefined) show(next.path)
  }
  return { viewer, current: files[at] ?? null, show, showLines, step }
}

type ViewedMarks = ReturnType<typeof useViewedMarks>

/** A mark applies to one version of a file. `next` is the file that the key marks. */
function useViewedMarks(
  { state: { viewed }, edit }: ReturnType<typeof useReviewState>,
  { files, current }: { files: ChangedFile[]; current: ChangedFile | null },
) {
  const isViewed = useCallback((file: ChangedFile) => viewed[file.path] === file.version, [viewed])
  const toggle = (file: ChangedFile) =>
    edit({ viewed: { [file.path]: viewed[file.path] === file.version ? null : file.version } })
  return { isViewed, toggle, next: current ?? files.find((file) => !isViewed(file)) ?? null }
}

/** Viewed files are folded, and so are files of programs until one asks for them. */
function useFolds(isViewed: (file: ChangedFile) => boolean) {
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set())
  const isFolded = useCallback(
    (file: ChangedFile) => isViewed(file) || (writtenByProgram(file.path) !== null && !shown.has(file.path)),
    [isViewed, shown],
  )
  return { isFolded, shown, show: (path: string) => setShown((before) => new Set([...before, path])) }
}

function FoldNote({ path, folds: { shown, show } }: { path: string; folds: ReturnType<typeof useFolds> }) {
  const reason = writtenByProgram(path)
  if (reason === null || shown.has(path)) return null
  return (
    <span className="flex items-center gap-2 font-sans text-xs text-dim">
      <span className="@max-2xl:sr-only">{reason}, folded</span>
      <Button kind="quiet" onClick={() => show(path)} aria-label={`Show the changes of ${path}`}>
        Show
      </Button>
    </span>
  )
}

/** The service does not have this commit. */
function isUnknownSince(error: Error | null): error is ApiError {
  const issues = error instanceof ApiError ? error.detail.issues : undefined
  return (
    Array.isArray(issues) && issues.some((issue: { path?: unknown }) => issue.path === 'since' || issue.path === 'to')
  )
}

function UnknownSince({ error }: { error: ApiError }) {
  return (
    <Notice tone="warn" title={error.message} action={<AllChanges />}>
      Changes since that commit can't be shown.
    </Notice>
  )
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
