import { CodeView, type CodeViewHandle, WorkerPoolContextProvider } from '@pierre/diffs/react'
import type { CodeViewItem, DiffLineAnnotation, FileDiffContentsLoader, SelectedLineRange } from '@pierre/diffs'
import { getOrCreateWorkerPoolSingleton } from '@pierre/diffs/worker'
import { type ReactNode, type Ref, useEffect, useMemo, useRef } from 'react'
import type { ChangedFile } from './changed-files.ts'
import { CommentBox } from './comment-box.tsx'
import { expanderStyles, linesAtOnce, makeExpandersReachable } from './expanders.ts'
import type { DraftComment } from './drafts.ts'
import { highlightWorker } from './highlight-worker.ts'
import { visibleDiff } from './visible-diff.ts'

/** Every colour of these is read against the green and red of a change, in both themes. */
const theme = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }
/** On two cores a second one would only take the time in which the page is drawn. */
const poolSize = navigator.hardwareConcurrency > 2 ? 2 : 1
const pool = { workerFactory: highlightWorker, poolSize }
const highlighting = { theme }

/** A row is painted once and not again in every frame in which others come: four tenths of what scrolling takes the processor. */
const rowStyles = '[data-line], [data-column-number] { contain: layout style; }'

/** The viewer draws nothing before its colours are read, so that begins with this code and not with its first drawing. */
getOrCreateWorkerPoolSingleton({ poolOptions: pool, highlighterOptions: highlighting })

export function Highlighting({ children }: { children: ReactNode }) {
  return (
    <WorkerPoolContextProvider poolOptions={pool} highlighterOptions={highlighting}>
      {children}
    </WorkerPoolContextProvider>
  )
}

export type ViewerHandle = CodeViewHandle<DraftComment, undefined>

/** All files one below the other; only what is on the screen is in the document. */
export function Viewer({
  ref,
  files,
  layout,
  wrap,
  collapsed,
  drafts,
  openDraft,
  load,
  onDrawn,
  onComment,
  onSave,
  onRemove,
  onEdit,
}: {
  ref: Ref<ViewerHandle>
  files: ChangedFile[]
  layout: 'split' | 'unified'
  wrap: boolean
  collapsed: (file: ChangedFile) => boolean
  drafts: DraftComment[]
  openDraft: string | null
  /** The whole of a file, for the lines around what changed. */
  load: FileDiffContentsLoader
  /** Whenever a file was drawn. */
  onDrawn: () => void
  onComment: (file: ChangedFile, range: SelectedLineRange) => void
  onSave: (draft: DraftComment, text: string) => void
  onRemove: (draft: DraftComment) => void
  onEdit: (draft: DraftComment) => void
}) {
  const items = useItems(files, { collapsed, drafts, openDraft })
  // Not by way of the options: what changes in them draws all again.
  const latest = useRef({ files, onComment, onDrawn })
  useEffect(() => {
    latest.current = { files, onComment, onDrawn }
  })
  const options = useMemo(
    () => ({
      theme,
      diffStyle: layout,
      overflow: wrap ? ('wrap' as const) : ('scroll' as const),
      lineDiffType: 'word' as const,
      hunkSeparators: 'line-info' as const,
      expansionLineCount: linesAtOnce,
      loadDiffFiles: load,
      unsafeCSS: `${rowStyles}${expanderStyles}`,
      onPostRender(host: HTMLElement, _drawn: unknown, phase: string, context: { item: { id: string } }) {
        if (phase === 'unmount') return
        makeExpandersReachable(host, context.item.id)
        latest.current.onDrawn()
      },
      stickyHeaders: true,
      enableGutterUtility: true,
      enableLineSelection: true,
      onGutterUtilityClick(range: SelectedLineRange, context: { item: CodeViewItem<DraftComment> }) {
        const file = latest.current.files.find(({ path }) => path === context.item.id)
        // What is drawn may have been loaded whole, which the same file of a newer answer has not.
        if (file !== undefined && context.item.type === 'diff')
          latest.current.onComment({ ...file, view: context.item.fileDiff }, range)
      },
    }),
    [layout, wrap, load],
  )
  const renderAnnotation = (...[{ metadata: draft }]: [{ metadata: DraftComment }, ...unknown[]]) => (
    <CommentBox
      key={draft.id}
      draft={draft}
      isOpen={draft.id === openDraft}
      onSave={(text) => onSave(draft, text)}
      onRemove={() => onRemove(draft)}
      onEdit={() => onEdit(draft)}
    />
  )
  return (
    <CodeView<DraftComment>
      ref={ref}
      items={items}
      options={options}
      className="h-full overflow-auto rounded-lg border border-line"
      // Without one the viewer has nothing to tell React of while it scrolls.
      {...(drafts.length > 0 && { renderAnnotation })}
    />
  )
}

type Item = CodeViewItem<DraftComment>

/** What is drawn of each file that was read: the same object as long as it is the same, so that those that come only follow. */
function useItems(
  files: ChangedFile[],
  {
    collapsed,
    drafts,
    openDraft,
  }: { collapsed: (file: ChangedFile) => boolean; drafts: DraftComment[]; openDraft: string | null },
): Item[] {
  const known = useRef(new WeakMap<ChangedFile, { version: number; item: Item }>())
  return useMemo(() => {
    const draftsOf = Map.groupBy(drafts, ({ path }) => path)
    return files
      .filter(({ view }) => view !== null)
      .map((file): Item => {
        const annotations = (draftsOf.get(file.path) ?? []).map((draft): DiffLineAnnotation<DraftComment> => ({
          side: draft.side === 'old' ? 'deletions' : 'additions',
          lineNumber: draft.line,
          metadata: draft,
        }))
        const isCollapsed = collapsed(file)
        const shown = annotations.length === 0 ? '' : JSON.stringify([annotations, openDraft])
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
  }, [files, drafts, openDraft, collapsed])
}

/** The viewer renders an item again when its version changes. */
function versionOf(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}
