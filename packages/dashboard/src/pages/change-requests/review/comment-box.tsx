import { suggestionBlock, suggestionOf } from '@svc/contract/schemas/suggestion'
import { useEffect, useRef, useState } from 'react'
import { useTyped } from '../../../browser/use-stored.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Failure } from '../../../components/requests.tsx'
import { Button, Form } from '../../../ui/form.tsx'
import { type DraftComment, type Drafts, quoteMax, typedKey } from './drafts.ts'
import { CommentText } from './suggestion.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

/** A comment below its line: being edited, or pending until the review is sent. */
export function CommentBox({ draft, drafts }: { draft: DraftComment; drafts: Drafts }) {
  const open = drafts.open.find((each) => each.draft.id === draft.id)
  if (open !== undefined) return <CommentForm draft={open.draft} error={open.error} drafts={drafts} />
  return (
    <div className="m-2 flex flex-col gap-2 rounded-md border border-accent bg-ground p-3 font-sans text-sm whitespace-normal">
      <p className="text-xs text-dim">Pending comment on {placeOf(draft)}</p>
      <CommentText text={draft.text} quote={draft.quote} />
      <div className="flex gap-2">
        <Button kind="quiet" onClick={() => drafts.edit(draft)}>
          Edit
        </Button>
        <Button kind="quiet" onClick={() => drafts.remove(draft)}>
          Delete
        </Button>
      </div>
    </div>
  )
}

function CommentForm({ draft, error, drafts }: { draft: DraftComment; error: Error | null; drafts: Drafts }) {
  const [text, setText] = useTyped(typedKey(draft), draft.text)
  const [isAsking, setAsking] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (drafts.takesFocus(draft)) field.current?.focus()
  })
  const save = () => text.trim() !== '' && drafts.save(draft, text.trim())
  const suggest = () => {
    const block = suggestionBlock(draft.quote.split('\n'))
    setText(text.trim() === '' ? block : `${text.trimEnd()}\n\n${block}`)
    field.current?.focus()
  }
  const leave = () => (text.trim() === draft.text ? drafts.cancel(draft) : setAsking(true))
  return (
    <Form
      className="m-2 flex flex-col gap-2 rounded-md border border-line-strong bg-ground p-3 font-sans text-sm whitespace-normal"
      onSubmit={save}
    >
      {error !== null && <Failure error={error} />}
      <label className="flex flex-col gap-1 text-xs text-dim">
        Comment on {placeOf(draft)} of {visibleName(draft.path)}
        <textarea
          ref={field}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            event.stopPropagation()
            // These keys belong to an input method while it composes a word.
            if (event.nativeEvent.isComposing) return
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save()
            if (event.key === 'Escape') leave()
          }}
          className="field-sizing-content max-h-[40dvh] min-h-20 rounded-md border border-line-strong bg-ground p-2 text-sm text-text"
        />
      </label>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" disabledReason={text.trim() === '' ? 'Enter a comment' : null}>
          Add to review
        </Button>
        <Button kind="plain" disabledReason={cannotSuggest(draft, text)} onClick={suggest}>
          Suggest a change
        </Button>
        <Button kind="quiet" onClick={leave}>
          Discard
        </Button>
      </div>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title="Discard what you typed?"
        verb="Discard"
        busy={false}
        onConfirm={() => drafts.cancel(draft)}
      >
        {draft.text === '' ? 'The comment is not in your review yet.' : 'The comment in your review stays as it is.'}
      </ConfirmDialog>
    </Form>
  )
}

const placeOf = ({ line, start_line }: DraftComment) =>
  start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`

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
