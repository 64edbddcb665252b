/** Opens and closes the pane that shows how a hunk was written. */
import { type RefObject, Suspense, useCallback, useRef, useState } from 'react'
import { lazy } from '../../../components/lazy-code.tsx'
import { History } from 'lucide-react'
import { Button } from '../../../ui/form.tsx'
import { labelCommentButtons } from '../diff/expanders.ts'
import { focusOriginButton } from '../diff/origin-buttons.ts'
import type { ViewerHandle } from '../diff/viewer.tsx'
import type { ChangedFile } from '../files/changed-files.ts'
import type { Range } from '../files/versions-menu.tsx'
import type { ChangeRequest, Diff, LineOrigin } from '../queries.ts'
import type { Hunk, Place } from './story.ts'

const Pane = lazy(() => import('./pane.tsx'), 'default')

export function useOrigins(viewer: RefObject<ViewerHandle | null>, range: Range) {
  const [place, setPlace] = useState<Place | null>(null)
  /** Gets the focus back. */
  const opener = useRef<{ element: HTMLElement | null; path: string; hunk: number | null } | null>(null)
  const showLines = useCallback(
    (path: string, { side, start, end }: Pick<LineOrigin, 'side' | 'start' | 'end'>) => {
      const of = side === 'new' ? ('additions' as const) : ('deletions' as const)
      viewer.current?.setSelectedLines({ id: path, range: { start, end, side: of } })
      requestAnimationFrame(labelCommentButtons)
      viewer.current?.scrollTo({
        ...{ type: 'line', id: path, lineNumber: start, side: of, align: 'nearest', behavior: 'instant' },
      })
    },
    [viewer],
  )
  const isOfBase = range.since === null
  const open = useCallback(
    (file: ChangedFile | undefined, index: number | null) => {
      if (file === undefined) return
      opener.current = { element: focusedElement(), path: file.path, hunk: index }
      setPlace({ path: file.path, hunk: index === null ? null : hunkOf(file, index, isOfBase) })
    },
    [isOfBase],
  )
  const close = useCallback(() => {
    setPlace(null)
    if (opener.current === null) return
    const { element, path, hunk } = opener.current
    if (element?.isConnected === true) element.focus({ preventScroll: true })
    // The viewer rendered the file again.
    else if (hunk !== null) focusOriginButton(path, hunk)
  }, [])
  return {
    place,
    /** Null for an earlier head, whose lines have other numbers. */
    ask: range.to === null ? open : null,
    close,
    showLines,
    showFile: (path: string) => setPlace({ path, hunk: null }),
  }
}

/** For the whole file, also where no gap before a hunk has a button. */
export function OriginButton({
  path,
  files,
  onAsk,
}: {
  path: string
  files: ChangedFile[]
  onAsk: ReturnType<typeof useOrigins>['ask']
}) {
  const file = files.find((each) => each.path === path)
  if (onAsk === null || file === undefined) return null
  return (
    <Button
      kind="quiet"
      onClick={() => onAsk(file, null)}
      aria-label={`How was this written? ${path}`}
      title="How was this written?"
    >
      <History aria-hidden className="size-3.5" />
      <span className="hidden font-sans @4xl:inline">How was this written?</span>
    </Button>
  )
}

export function OriginsOf({
  cr,
  diff,
  files,
  of: { place, close, showLines, showFile },
}: {
  cr: ChangeRequest
  diff: Diff
  files: ChangedFile[]
  of: ReturnType<typeof useOrigins>
}) {
  const file = files.find(({ path }) => path === place?.path)
  if (place === null || file === undefined) return null
  return (
    <Suspense fallback={null}>
      <Pane
        cr={cr}
        headSha={diff.head_sha}
        file={file}
        place={place}
        onLines={(lines) => showLines(place.path, lines)}
        onWholeFile={() => showFile(place.path)}
        onClose={close}
      />
    </Suspense>
  )
}

const none = { start: 1, end: 0 }

/** Removed lines are known by their numbers in the base only. */
function hunkOf({ view }: ChangedFile, index: number, isOfBase: boolean): Hunk | null {
  const hunk = view?.hunks[index]
  if (hunk === undefined) return null
  const { additionStart, additionCount, deletionStart, deletionCount } = hunk
  return {
    new: { start: additionStart, end: additionStart + additionCount - 1 },
    old: isOfBase ? { start: deletionStart, end: deletionStart + deletionCount - 1 } : none,
  }
}

/** Also inside the viewer. */
function focusedElement(): HTMLElement | null {
  let focused = document.activeElement
  while (focused?.shadowRoot?.activeElement != null) focused = focused.shadowRoot.activeElement
  return focused instanceof HTMLElement ? focused : null
}
