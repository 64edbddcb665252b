import type { SelectedLineRange } from '@pierre/diffs'
import { useState } from 'react'
import type { ChangedFile } from '../files/changed-files.ts'
import type { ReviewState } from '../queries.ts'
import type { Edit } from './review-state.ts'

export type Drafts = ReturnType<typeof useDrafts>

/** Pending comments. At most one of them is being edited, and a new one is stored once it has a text. */
export function useDrafts({ state, edit }: { state: ReviewState; edit: (edit: Edit) => void }) {
  const [open, setOpen] = useState<DraftComment | null>(null)
  const stored = state.drafts.map(({ draft_id: id, ...draft }): DraftComment => ({ id, ...draft }))
  const isNew = open !== null && !stored.some(({ id }) => id === open.id)
  return {
    drafts: isNew ? [...stored, open] : stored,
    openId: open?.id ?? null,
    begin: (file: ChangedFile, range: SelectedLineRange) => setOpen(draftAt(file, range)),
    edit: (draft: DraftComment) => setOpen(draft),
    save({ id, ...draft }: DraftComment, text: string) {
      edit({ drafts: { [id]: { ...draft, text } } })
      setOpen(null)
    },
    remove({ id }: DraftComment) {
      if (stored.some((draft) => draft.id === id)) edit({ drafts: { [id]: null } })
      setOpen(null)
    },
  }
}

export interface DraftComment {
  id: string
  path: string
  side: 'old' | 'new'
  line: number
  start_line: number | null
  quote: string
  text: string
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

export const quoteMax = 4096

/** The commented lines that the page has loaded. */
function quote({ view }: ChangedFile, side: 'old' | 'new', first: number, last: number): string {
  if (view === null) return ''
  const lines = side === 'new' ? view.additionLines : view.deletionLines
  const from = view.isPartial ? indexInPatch(view, side, first, last) : first - 1
  if (from === null) return ''
  return lines
    .slice(from, from + last - first + 1)
    .map((line) => line.replace(/\r?\n$/, ''))
    .join('\n')
    .slice(0, quoteMax)
}

/** The index of the first line in the patch; null when the patch does not contain all lines. */
function indexInPatch(
  view: NonNullable<ChangedFile['view']>,
  side: 'old' | 'new',
  first: number,
  last: number,
): number | null {
  for (const hunk of view.hunks) {
    const [start, count, from] =
      side === 'new'
        ? [hunk.additionStart, hunk.additionCount, hunk.additionLineIndex]
        : [hunk.deletionStart, hunk.deletionCount, hunk.deletionLineIndex]
    if (first >= start && last < start + count) return from + first - start
  }
  return null
}
