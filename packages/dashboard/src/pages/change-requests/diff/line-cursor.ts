/** A cursor on one line of the current file, for the keyboard and for screen readers. */
import { type RefObject, useState } from 'react'
import type { FileDiffMetadata, Hunk, SelectedLineRange } from '@pierre/diffs'
import type { ChangedFile } from '../files/changed-files.ts'
import type { ViewerHandle } from './viewer.tsx'

interface Line {
  side: 'additions' | 'deletions'
  line: number
  kind: 'unchanged' | 'added' | 'removed'
  text: string
}

/** The lines of the hunks, in the order of a unified diff. */
function linesOf(view: FileDiffMetadata): Line[] {
  return view.hunks.flatMap((hunk) => {
    const added = (index: number) => hunk.additionStart + index - hunk.additionLineIndex
    const removed = (index: number) => hunk.deletionStart + index - hunk.deletionLineIndex
    const several = (count: number, of: (at: number) => Line) => Array.from({ length: count }, (_, at) => of(at))
    return hunk.hunkContent.flatMap((content): Line[] => {
      const { additionLineIndex: to, deletionLineIndex: from } = content
      const lineAt = (kind: 'unchanged' | 'added') => (at: number) => ({
        ...{ side: 'additions' as const, line: added(to + at), kind, text: view.additionLines[to + at] ?? '' },
      })
      if (content.type === 'context') return several(content.lines, lineAt('unchanged'))
      return [
        ...several(content.deletions, (at) => ({
          ...{ side: 'deletions' as const, line: removed(from + at), kind: 'removed' as const },
          text: view.deletionLines[from + at] ?? '',
        })),
        ...several(content.additions, lineAt('added')),
      ]
    })
  })
}

/** The first added line of the first change, or a removed one when the change only removes. */
function firstChanged(lines: readonly Line[]): number {
  const first = lines.findIndex(({ kind }) => kind !== 'unchanged')
  const end = lines.findIndex(({ kind }, at) => at > first && kind === 'unchanged')
  const added = lines.slice(first, end === -1 ? undefined : end).findIndex(({ kind }) => kind === 'added')
  return added === -1 ? Math.max(0, first) : first + added
}

export function useLineCursor(file: ChangedFile | null, viewer: RefObject<ViewerHandle | null>) {
  const [cursor, setCursor] = useState<{ file: ChangedFile; at: number } | null>(null)
  const lines = () => (file?.view == null ? [] : linesOf(file.view))
  const at = cursor !== null && cursor.file === file ? cursor.at : null
  const range = ({ line, side }: Line): SelectedLineRange => ({ start: line, end: line, side })
  return {
    /** A screen reader announces it. */
    announcement: at === null ? '' : described(lines()[at]),
    move(by: number) {
      const all = lines()
      if (file === null || all.length === 0) return
      const next = at === null ? firstChanged(all) : Math.min(all.length - 1, Math.max(0, at + by))
      setCursor({ file, at: next })
      const line = all[next]!
      viewer.current?.setSelectedLines({ id: file.path, range: range(line) })
      viewer.current?.scrollTo({
        ...{ type: 'line', id: file.path, lineNumber: line.line, side: line.side, align: 'nearest' },
        behavior: 'instant',
      })
    },
    /** The hunk of the cursor, otherwise the first one. */
    hunk(): number {
      const line = at === null ? undefined : lines()[at]
      const found = file?.view?.hunks.findIndex((each) => line !== undefined && isIn(each, line)) ?? -1
      return Math.max(0, found)
    },
    /** Begins a comment on the line of the cursor, otherwise on the first changed one. */
    begin(comment: (file: ChangedFile, range: SelectedLineRange) => void) {
      const all = lines()
      const line = all[at ?? firstChanged(all)]
      if (file !== null && line !== undefined) comment(file, range(line))
    },
  }
}

function isIn(hunk: Hunk, { side, line }: Line): boolean {
  const [start, count] =
    side === 'additions' ? [hunk.additionStart, hunk.additionCount] : [hunk.deletionStart, hunk.deletionCount]
  return line >= start && line < start + count
}

function described(line: Line | undefined): string {
  return line === undefined ? '' : `Line ${line.line}, ${line.kind}: ${line.text.trim() || 'empty'}`
}
