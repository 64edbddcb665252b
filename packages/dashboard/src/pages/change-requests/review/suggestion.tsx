/** A suggestion of a comment: the lines it replaces and those it brings, and the way to apply it. */
import { Dialog } from '@base-ui/react/dialog'
import { type Suggestion, suggestionOf } from '@svc/contract/schemas/suggestion'
import { useState } from 'react'
import { BranchName } from '../../../components/branch-name.tsx'
import { Prose } from '../../../components/markdown.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { Button, buttonClass, Form, Input } from '../../../ui/form.tsx'
import { visible, visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { type ChangeRequest, pathOf, type Thread } from '../queries.ts'

/** The text of a comment. Its first suggestion is shown as a diff. */
export function CommentText({ text, quote }: { text: string; quote: string }) {
  const found = suggestionOf(text)
  if (found === null) return <Prose>{text}</Prose>
  return (
    <>
      {found.before !== '' && <Prose>{found.before}</Prose>}
      <SuggestionDiff of={found} quote={quote} />
      {found.after !== '' && <Prose>{found.after}</Prose>}
    </>
  )
}

/** `quote`: the replaced lines; empty where the comment came without them. */
function SuggestionDiff({ of: { lines }, quote }: { of: Pick<Suggestion, 'lines'>; quote: string }) {
  const removed = quote === '' ? [] : quote.split('\n')
  return (
    <figure className="min-w-0 overflow-hidden rounded-md border border-line">
      <figcaption className="bg-panel px-3 py-1 text-xs text-dim">
        {lines.length === 0 ? 'Suggested change: delete these lines' : 'Suggested change'}
      </figcaption>
      <pre tabIndex={0} className="overflow-x-auto border-t border-line font-mono text-xs leading-5">
        <Lines sign="-" lines={removed} />
        <Lines sign="+" lines={lines} />
      </pre>
    </figure>
  )
}

const looks = { '+': 'bg-good-soft', '-': 'bg-bad-soft' } as const
const words = { '+': 'Added: ', '-': 'Removed: ' } as const

function Lines({ sign, lines }: { sign: '+' | '-'; lines: readonly string[] }) {
  return lines.map((line, at) => (
    <code key={at} className={`block min-w-max px-3 text-text ${looks[sign]}`}>
      <span aria-hidden="true" className="mr-2 text-dim select-none">
        {sign}
      </span>
      <span className="sr-only">{words[sign]}</span>
      {visible(line)}
    </code>
  ))
}

export const canApply = (cr: ChangeRequest, { suggestion }: Pick<Thread, 'suggestion'>) =>
  cr.status === 'open' && suggestion?.refusal === null

const counted = (count: number) => (count === 1 ? 'Apply suggestion' : `Apply ${count} suggestions`)

/**
 * Opens a dialog with these suggestions, all of them chosen. With fewer than `least` there is no button. The dialog
 * stays open when its suggestions become outdated, and shows why the server refuses them.
 */
export function ApplyButton({
  cr,
  threads,
  least = 1,
}: {
  cr: ChangeRequest
  threads: readonly Thread[]
  least?: number
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {threads.length >= least && <Button onClick={() => setOpen(true)}>{counted(threads.length)}</Button>}
      <Dialog.Root open={isOpen} onOpenChange={setOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
          <Dialog.Popup className="fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-160 max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col gap-3 rounded-lg border border-line bg-raised p-5 shadow-float outline-none">
            <ApplyForm cr={cr} threads={threads} onDone={() => setOpen(false)} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  )
}

/** Keeps what it opened with: the list outside changes when a suggestion is applied. */
function ApplyForm({ cr, threads, onDone }: { cr: ChangeRequest; threads: readonly Thread[]; onDone: () => void }) {
  const [shown] = useState(threads)
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [message, setMessage] = useState('')
  const chosen = shown.filter(({ comment_id }) => !left.has(comment_id))
  const applying = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/suggestions/apply', {
    path: pathOf(cr),
    once: true,
    refetch: [['project', cr.project_id]],
    onSuccess: onDone,
  })
  const head = cr.head_commit_sha
  const refusal =
    head === null ? 'The head commit is not known yet' : chosen.length === 0 ? 'Choose at least one suggestion' : null
  const submit = () => {
    if (head === null || refusal !== null || applying.isPending) return
    const comment_ids = chosen.map(({ comment_id }) => comment_id)
    applying.mutate({ comment_ids, expected_head_sha: head, message })
  }
  const usual =
    chosen.length === 1
      ? `Apply a suggestion to ${chosen[0]!.path}`
      : `Apply ${chosen.length} suggestions from the review of #${cr.number}`
  return (
    <Form className="flex min-h-0 flex-col gap-3" onSubmit={submit}>
      <Dialog.Title className="font-semibold">{counted(shown.length)}</Dialog.Title>
      <Dialog.Description className="text-sm text-dim">
        One commit by you on <BranchName name={cr.head_ref} />. It resolves the{' '}
        {shown.length === 1 ? 'comment' : 'comments'}.
      </Dialog.Description>
      <ul className="flex min-h-0 flex-col gap-3 overflow-y-auto" aria-label="Suggestions">
        {shown.map((thread) => (
          <Choice
            key={thread.comment_id}
            of={thread}
            isAlone={shown.length === 1}
            isChosen={!left.has(thread.comment_id)}
            onChoose={(on) => setLeft(on ? without(left, thread.comment_id) : new Set([...left, thread.comment_id]))}
          />
        ))}
      </ul>
      <Input label="Commit message" value={message} onChange={setMessage} placeholder={usual} />
      {applying.isError && <Failure error={applying.error} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Dialog.Close className={buttonClass()}>Cancel</Dialog.Close>
        <Button type="submit" kind="primary" busy={applying.isPending} disabledReason={refusal}>
          {counted(chosen.length)}
        </Button>
      </div>
    </Form>
  )
}

const without = (set: ReadonlySet<string>, gone: string) => new Set([...set].filter((each) => each !== gone))

function Choice({
  of,
  isAlone,
  isChosen,
  onChoose,
}: {
  of: Thread
  isAlone: boolean
  isChosen: boolean
  onChoose: (on: boolean) => void
}) {
  const { path, line, start_line } = of.current ?? of
  const place = `${visibleName(path)}:${start_line === null ? line : `${start_line}-${line}`}`
  return (
    <li className="flex min-w-0 flex-col gap-1">
      {isAlone ? (
        <span className="font-mono text-xs break-all text-dim">{place}</span>
      ) : (
        <label className="flex items-center gap-2 font-mono text-xs break-all">
          <input type="checkbox" checked={isChosen} onChange={({ target }) => onChoose(target.checked)} />
          {place}
        </label>
      )}
      <SuggestionDiff of={{ lines: of.suggestion?.lines ?? [] }} quote={of.quote} />
    </li>
  )
}
