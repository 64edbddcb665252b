import { CodeView, type CodeViewHandle, WorkerPoolContextProvider } from '@pierre/diffs/react'
import type {
  CodeViewItem,
  DiffLineAnnotation,
  FileDiffContentsLoader,
  FileDiffMetadata,
  SelectedLineRange,
} from '@pierre/diffs'
import { getOrCreateWorkerPoolSingleton } from '@pierre/diffs/worker'
import { type ReactNode, type Ref, useInsertionEffect, useMemo, useRef } from 'react'
import type { ChangedFile } from '../files/changed-files.ts'
import { CommentBox } from '../review/comment-box.tsx'
import { showsEnd } from './context.ts'
import { expanderStyles, linesAtOnce, makeExpandersReachable } from './expanders.ts'
import { markMoved, MovedLabel, type Moves, movedStyles } from './moves.tsx'
import { addOriginButtons, originStyles } from './origin-buttons.ts'
import { makeScrollableReachable, scrollableStyles } from './scrollable.ts'
import type { DraftComment, Drafts } from '../review/drafts.ts'
import { highlightWorker } from './highlight-worker.ts'
import { visible, visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Lines } from '../../../ui/stat.tsx'

/** The colors of these themes are readable on the green and red of a change, but for that of comments in the light one. */
export const codeTheme = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }
/** The viewer follows the system on the theme's own background. This follows the chosen theme, on that of a card. */
export const surfaceStyles = ':host { color-scheme: inherit; --diffs-dark-bg: var(--color-panel); }'
/** On two cores a second worker would compete with rendering. */
const poolSize = navigator.hardwareConcurrency > 2 ? 2 : 1
const pool = { workerFactory: highlightWorker, poolSize }
const highlighting = { theme: codeTheme }

/** Prevents repainting of rendered rows while others scroll in, which took 40 % of the processor time. */
const rowStyles = '[data-line], [data-column-number] { contain: layout style; }'

/** Selected lines stay readable with the highlights of changed words. */
const selectionStyles = `
  [data-line][data-selected-line] { --mix-selection-light: 92%; --mix-selection-dark: 90%; box-shadow: inset 2px 0 var(--color-accent); }
`

/** The header counts the lines as the rest of the page does: additions first. */
const countStyles = '[data-additions-count], [data-deletions-count] { display: none; }'

/** The gray of comments in the light theme is too light for an added line. */
const commentStyles = `[data-line] span[style*='--diffs-token-light:#66707B'] { --diffs-token-light: #57606a !important; }`

/** The viewer renders nothing before its themes are loaded, so loading starts with this module. */
getOrCreateWorkerPoolSingleton({ poolOptions: pool, highlighterOptions: highlighting })

export function Highlighting({ children }: { children: ReactNode }) {
  return (
    <WorkerPoolContextProvider poolOptions={pool} highlighterOptions={highlighting}>
      {children}
    </WorkerPoolContextProvider>
  )
}

/** A pending comment, or the thread of a sent one, below its line. */
interface Annotation {
  of: DraftComment | PlacedThread
}
/** A thread at its place in the shown files. `version` changes with what it shows. */
export interface PlacedThread {
  id: string
  path: string
  side: 'old' | 'new'
  line: number
  version: string
}

export type ViewerHandle = CodeViewHandle<Annotation, undefined>

const noComments: Pick<Drafts, 'drafts' | 'open'> = { drafts: [], open: [] }

/** The column that a viewer fills. It keeps the height of the screen until the viewer has rendered. */
export const viewerColumn = (isRendered: boolean) =>
  `flex max-h-[max(20rem,calc(100dvh-9rem))] flex-col ${isRendered ? '' : 'h-dvh'}`

/** All files in one list. Only the visible part is in the document. */
export function Viewer({
  ref,
  files,
  view: { layout, wrap },
  collapsed,
  drafts,
  threads,
  renderThread,
  renderNote,
  moves,
  onShowMoved,
  load,
  onAskOrigin,
  onRendered,
}: {
  ref: Ref<ViewerHandle>
  files: ChangedFile[]
  view: { layout: 'split' | 'unified'; wrap: boolean }
  collapsed: (file: ChangedFile) => boolean
  /** Null on a page without comments. */
  drafts: Drafts | null
  threads: readonly PlacedThread[]
  renderThread: (id: string) => ReactNode
  /** Stands in the header of a file. */
  renderNote: (path: string) => ReactNode
  moves: Moves
  onShowMoved: Parameters<typeof MovedLabel>[0]['onShow']
  /** Loads a whole file for the context around its changes; null where there is none. */
  load: FileDiffContentsLoader | null
  /** Shows how a hunk was written. Null where the diff is not of the current head. */
  onAskOrigin: ((file: ChangedFile, hunk: number) => void) | null
  /** Runs after each render of a file. */
  onRendered: () => void
}) {
  const notes = useMemo(() => [...threads, ...moves.placed], [threads, moves])
  const items = useItems(files, { collapsed, drafts: drafts ?? noComments, threads: notes })
  // Not part of the options, because a change of options renders everything again.
  const latest = useRef({ files, drafts, moves, onAskOrigin, onRendered })
  // Before the effects of CodeView, which may render the files with what is new.
  useInsertionEffect(() => {
    latest.current = { files, drafts, moves, onAskOrigin, onRendered }
  })
  const options = useMemo(
    () => ({
      theme: codeTheme,
      diffStyle: layout,
      overflow: wrap ? ('wrap' as const) : ('scroll' as const),
      lineDiffType: 'word' as const,
      hunkSeparators: 'line-info' as const,
      expansionLineCount: linesAtOnce,
      ...(load !== null && { loadDiffFiles: load }),
      unsafeCSS: `${surfaceStyles}${rowStyles}${countStyles}${commentStyles}${selectionStyles}${expanderStyles}${movedStyles}${scrollableStyles}${originStyles}`,
      onPostRender(host: HTMLElement, _rendered: unknown, phase: string, context: { item: { id: string } }) {
        if (phase === 'unmount') return
        makeExpandersReachable(host, context.item.id)
        makeScrollableReachable(host)
        markMoved(host, latest.current.moves.lines.get(context.item.id))
        const file = latest.current.files.find(({ path }) => path === context.item.id)
        host.toggleAttribute('data-shows-end', file?.view != null && showsEnd(file.view))
        if (latest.current.onAskOrigin !== null && file?.view != null)
          addOriginButtons(host, {
            hunks: file.view.hunks.length,
            onAsk: (hunk) => latest.current.onAskOrigin?.(file, hunk),
          })
        latest.current.onRendered()
      },
      stickyHeaders: true,
      enableGutterUtility: drafts !== null,
      enableLineSelection: true,
      onGutterUtilityClick(range: SelectedLineRange, context: { item: CodeViewItem<Annotation> }) {
        const file = latest.current.files.find(({ path }) => path === context.item.id)
        // The rendered file may be loaded in full, unlike the same file of a newer answer.
        if (file !== undefined && context.item.type === 'diff')
          latest.current.drafts?.begin({ ...file, view: context.item.fileDiff }, range)
      },
    }),
    [layout, wrap, load, drafts === null],
  )
  const renderAnnotation = (...[{ metadata }]: [{ metadata: Annotation }, ...unknown[]]) => {
    const draft = metadata.of
    const moved = moves.notes.get(draft.id)
    if (moved !== undefined) return <MovedLabel of={moved} onShow={onShowMoved} />
    if ('version' in draft) return <div className="m-2 max-w-180">{renderThread(draft.id)}</div>
    return drafts === null ? null : <CommentBox key={draft.id} draft={draft} drafts={drafts} />
  }
  return (
    <CodeView<Annotation>
      ref={ref}
      items={items}
      options={options}
      className="min-h-0 flex-auto overflow-auto rounded-lg border border-line"
      // Without it the viewer does not notify React while scrolling.
      {...((drafts?.drafts.length ?? 0) + notes.length > 0 && { renderAnnotation })}
      renderHeaderMetadata={({ id }) => <HeaderNote files={files} path={id} renderNote={renderNote} />}
    />
  )
}

function HeaderNote({
  files,
  path,
  renderNote,
}: {
  files: ChangedFile[]
  path: string
  renderNote: (path: string) => ReactNode
}) {
  const file = files.find((each) => each.path === path)
  return (
    <span className="flex items-center gap-2 font-sans">
      {file !== undefined && <Lines additions={file.additions} deletions={file.deletions} />}
      {renderNote(path)}
    </span>
  )
}

type Item = CodeViewItem<Annotation>

/** The viewer's items for the files that are read. An unchanged file keeps its object, so that new files only append. */
function useItems(
  files: ChangedFile[],
  {
    collapsed,
    drafts: { drafts, open },
    threads,
  }: {
    collapsed: (file: ChangedFile) => boolean
    drafts: Pick<Drafts, 'drafts' | 'open'>
    threads: readonly PlacedThread[]
  },
): Item[] {
  const known = useRef(new WeakMap<ChangedFile, { version: number; item: Item }>())
  return useMemo(() => {
    const shownForms = open.map(({ draft, error }) => [draft.id, error?.message])
    const ofPath = Map.groupBy([...threads, ...drafts], ({ path }) => path)
    return files
      .filter(({ view }) => view !== null)
      .map((file): Item => {
        const old = file.oldPath === null ? [] : (ofPath.get(file.oldPath) ?? [])
        const here = [...(ofPath.get(file.path) ?? []), ...old.filter(({ side }) => side === 'old')]
        const annotations = here.map((of): DiffLineAnnotation<Annotation> => ({
          side: of.side === 'old' ? 'deletions' : 'additions',
          lineNumber: of.line,
          metadata: { of },
        }))
        const isCollapsed = collapsed(file)
        const shown = annotations.length === 0 ? '' : JSON.stringify([annotations, shownForms])
        const version = versionOf(`${file.comparison} ${isCollapsed} ${shown}`)
        const before = known.current.get(file)
        if (before?.version === version) return before.item
        const item: Item = {
          id: file.path,
          type: 'diff',
          fileDiff: visibleDiff(file.view!),
          annotations,
          collapsed: isCollapsed,
          version,
        }
        known.current.set(file, { version, item })
        return item
      })
  }, [files, drafts, open, threads, collapsed])
}

/** The viewer renders an item again when its version changes. */
function versionOf(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}

const known = new WeakMap<FileDiffMetadata, FileDiffMetadata>()

/**
 * The file with its hidden characters made visible, because they can hide a change from its reviewer. The parsed patch stays
 * unchanged for quotes in comments. The same file gives the same object, so that the viewer does not render it again.
 */
function visibleDiff(view: FileDiffMetadata): FileDiffMetadata {
  let made = known.get(view)
  if (made === undefined) {
    made = {
      ...view,
      name: visibleName(view.name),
      ...(view.prevName === undefined ? {} : { prevName: visibleName(view.prevName) }),
      additionLines: view.additionLines.map(visible),
      deletionLines: view.deletionLines.map(visible),
    }
    known.set(view, made)
  }
  return made
}
