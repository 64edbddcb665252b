import { useEffect, useRef, useState } from 'react'
import { Button, Form } from '../../../ui/form.tsx'
import type { DraftComment } from './drafts.ts'
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
        <p className="whitespace-pre-wrap">{draft.text}</p>
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
      <div className="flex gap-2">
        <Button type="submit" kind="primary" disabledReason={text.trim() === '' ? 'Enter a comment' : null}>
          Add to review
        </Button>
        <Button kind="quiet" onClick={onRemove}>
          Discard
        </Button>
      </div>
    </Form>
  )
}
