import type { SelectedLineRange } from '@pierre/diffs'
import { useRef, useState } from 'react'
import { readStored, writeStored } from '../../../browser/storage.ts'
import { useTyped } from '../../../browser/use-stored.ts'
import type { ChangedFile } from '../files/changed-files.ts'
import type { ReviewState } from '../queries.ts'
import type { Edit } from './review-state.ts'

export type Drafts = ReturnType<typeof useDrafts>

/** A comment in its form. */
interface OpenDraft {
  /** As it is stored. A new one has no text. */
  draft: DraftComment
  /** Why the last attempt to store it failed. */
  error: Error | null
}

const noForms: readonly DraftComment[] = []

/** Where the text of a form is kept until it is stored. The form itself leaves the document when it is scrolled away. */
export const typedKey = ({ id }: Pick<DraftComment, 'id'>) => `svc-comment-${id}`

const typedIn = (draft: DraftComment) => readStored(typedKey(draft), draft.text, sessionStorage)

/** Pending comments. A new one is stored once it has a text. A form closes at once and comes back if the text was not stored. */
export function useDrafts(
  crId: string,
  {
    state,
    edit,
    save,
  }: {
    state: ReviewState
    edit: (edit: Edit) => void
    save: (edit: Edit) => Promise<unknown>
  },
) {
  const [forms, setForms] = useTyped(`svc-comments-${crId}`, noForms)
  const [errors, setErrors] = useState<Readonly<Record<string, Error | null>>>({})
  const open = forms.map((draft): OpenDraft => ({ draft, error: errors[draft.id] ?? null }))
  const begun = useRef<string | null>(null)
  const lastSaved = useRef(new Map<string, string>())
  const stored = state.drafts.map(({ draft_id: id, ...draft }): DraftComment => ({ id, ...draft }))
  const isStored = (id: string) => stored.some((draft) => draft.id === id)
  const added = forms.filter(({ id }) => !isStored(id))
  const close = (id: string) => {
    writeStored(typedKey({ id }), null, null, sessionStorage)
    setForms((before) => {
      const left = before.filter((draft) => draft.id !== id)
      return left.length === 0 ? noForms : left
    })
  }
  const openForm = (draft: DraftComment, error: Error | null, stays: (other: DraftComment) => boolean) => {
    setErrors((before) => ({ ...before, [draft.id]: error }))
    setForms((before) => [...before.filter((other) => other.id !== draft.id && stays(other)), draft])
  }
  /** Closes the forms in which nothing was typed. */
  const show = (draft: DraftComment) => {
    begun.current = draft.id
    openForm(draft, null, (other) => typedIn(other) !== other.text)
  }
  const reopen = (draft: DraftComment, text: string, error: Error) => {
    // A text that is being typed is newer.
    if (typedIn(draft) === draft.text) writeStored(typedKey(draft), draft.text, text, sessionStorage)
    openForm(draft, error, () => true)
  }
  return {
    drafts: [...stored, ...added.map((draft) => ({ ...draft, text: '' }))],
    open,
    /** Whether the form was opened by the user just now. */
    takesFocus({ id }: DraftComment): boolean {
      if (begun.current !== id) return false
      begun.current = null
      return true
    },
    begin: (file: ChangedFile, range: SelectedLineRange) => show(draftAt(file, range)),
    edit: show,
    save(draft: DraftComment, text: string) {
      const { id, ...place } = draft
      lastSaved.current.set(id, text)
      close(id)
      save({ drafts: { [id]: { ...place, text } } }).catch((error: Error) => {
        if (lastSaved.current.get(id) === text) reopen(draft, text, error)
      })
    },
    cancel: ({ id }: DraftComment) => close(id),
    remove({ id }: DraftComment) {
      lastSaved.current.delete(id)
      // The page shows an error of it above the files, and the comment again.
      edit({ drafts: { [id]: null } })
    },
    /** These comments were sent. A text that was changed since stays in its form. */
    sent(comments: readonly { id: string; text: string }[]) {
      for (const { id, text } of comments) {
        lastSaved.current.delete(id)
        const form = forms.find((draft) => draft.id === id)
        if (form !== undefined && typedIn(form) === text) close(id)
      }
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
