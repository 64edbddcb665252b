import type { SelectedLineRange } from '@pierre/diffs'
import { useState } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import type { ChangedFile } from '../files/changed-files.ts'

const none: DraftComment[] = []

export type Drafts = ReturnType<typeof useDrafts>

/** Pending comments, stored in this browser. At most one of them is being edited. */
export function useDrafts(crId: string) {
  const [drafts, store] = useStored<DraftComment[]>(`svc-review-${crId}`, none)
  const [openId, setOpenId] = useState<string | null>(null)
  const put = (draft: DraftComment) => store((before) => [...before.filter(({ id }) => id !== draft.id), draft])
  return {
    drafts,
    openId,
    begin(file: ChangedFile, range: SelectedLineRange) {
      const draft = draftAt(file, range)
      setOpenId(draft.id)
      put(draft)
    },
    edit: ({ id }: DraftComment) => setOpenId(id),
    save(draft: DraftComment, text: string) {
      put({ ...draft, text })
      setOpenId(null)
    },
    remove({ id }: DraftComment) {
      store((before) => before.filter((draft) => draft.id !== id))
      setOpenId(null)
    },
    clear: () => store(none),
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

const quoteMax = 4096

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
