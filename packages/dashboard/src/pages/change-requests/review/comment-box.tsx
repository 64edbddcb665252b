import { suggestionBlock, suggestionOf } from '@svc/contract/schemas/suggestion'
import { useEffect, useRef, useState } from 'react'
import { Button, Form } from '../../../ui/form.tsx'
import { type DraftComment, quoteMax } from './drafts.ts'
import { CommentText } from './suggestion.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

/** A comment below its line: being edited, or pending until the review is sent. */
export function CommentBox({
  draft,
  isOpen,
  onSave,
  onRemove,
  onEdit,
}: {
  draft: DraftComment
  isOpen: boolean
  onSave: (text: string) => void
  onRemove: () => void
  onEdit: () => void
}) {
  const [text, setText] = useState(draft.text)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (isOpen) field.current?.focus()
  }, [isOpen])
  const place = draft.start_line === null ? `line ${draft.line}` : `lines ${draft.start_line} to ${draft.line}`
  if (!isOpen)
    return (
      <div className="m-2 flex flex-col gap-2 rounded-md border border-accent bg-ground p-3 font-sans text-sm whitespace-normal">
        <p className="text-xs text-dim">Pending comment on {place}</p>
        <CommentText text={draft.text} quote={draft.quote} />
        <div className="flex gap-2">
          <Button kind="quiet" onClick={onEdit}>
            Edit
          </Button>
          <Button kind="quiet" onClick={onRemove}>
            Delete
          </Button>
        </div>
      </div>
    )
  const save = () => text.trim() !== '' && onSave(text.trim())
  const suggest = () => {
    const block = suggestionBlock(draft.quote.split('\n'))
    setText(text.trim() === '' ? block : `${text.trimEnd()}\n\n${block}`)
    field.current?.focus()
  }
  return (
    <Form
      className="m-2 flex flex-col gap-2 rounded-md border border-line-strong bg-ground p-3 font-sans text-sm whitespace-normal"
      onSubmit={save}
    >
      <label className="flex flex-col gap-1 text-xs text-dim">
        Comment on {place} of {visibleName(draft.path)}
        <textarea
          ref={field}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            event.stopPropagation()
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save()
            if (event.key === 'Escape') (draft.text === '' ? onRemove : () => onSave(draft.text))()
          }}
          className="min-h-20 rounded-md border border-line-strong bg-ground p-2 text-sm text-text"
        />
      </label>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" disabledReason={text.trim() === '' ? 'Enter a comment' : null}>
          Add to review
        </Button>
        <Button kind="plain" disabledReason={cannotSuggest(draft, text)} onClick={suggest}>
          Suggest a change
        </Button>
        <Button kind="quiet" onClick={onRemove}>
          Discard
        </Button>
      </div>
    </Form>
  )
}

/** Why the lines cannot be suggested anew, or null. */
function cannotSuggest(draft: DraftComment, text: string): string | null {
  if (suggestionOf(text) !== null) return 'This comment has a suggestion already'
  if (draft.side === 'old') return 'Only lines of the new version can be changed'
  if (draft.quote.length >= quoteMax) return 'These lines are too long to suggest a change to'
  return isQuoted(draft) ? null : 'Show all of these lines first'
}

/** Lines that the page has not loaded are not in the quote. An empty quote can be an empty line. */
const isQuoted = ({ quote, line, start_line }: DraftComment) =>
  quote.split('\n').length === line - (start_line ?? line) + 1
