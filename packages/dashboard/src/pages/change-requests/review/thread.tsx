import { type ReactNode, useState } from 'react'
import { useTyped } from '../../../browser/use-stored.ts'
import { Prose } from '../../../components/markdown.tsx'
import { ModelRefusal, useAgentRefusal } from '../../../components/no-model.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { shortCommit } from '../../../components/short-commit.ts'
import { Avatar } from '../../../ui/avatar.tsx'
import { Button, Form, TextArea } from '../../../ui/form.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { Badge, Time } from '../../../ui/text.tsx'
import { type ChangeRequest, pathOf, type Review, type Thread } from '../queries.ts'
import { ApplyButton, canApply, CommentText } from './suggestion.tsx'

/** A comment, or a review that has only a text. */
export type Item = Omit<Thread, 'path' | 'side' | 'line' | 'start_line' | 'quote' | 'current' | 'outdated'> & {
  /** Null for a review that has only a text. */
  written: Thread | null
  review: Review
}

export function itemsOf(reviews: readonly Review[]): Item[] {
  return reviews.flatMap((review): Item[] => {
    if (review.thread) return [{ ...review.thread, text: review.body, written: null, review }]
    return review.comments.map((written) => ({ ...written, written, review }))
  })
}

export const isAnswered = ({ state }: Pick<Item, 'state'>) => state !== 'open'

/** How many comments of its review have an answer. */
export function answeredOf({ review }: Item): string {
  const { length } = review.comments
  return length < 2 ? '' : `${review.comments.filter(isAnswered).length} of ${length} answered`
}

/** The answers of the author of the change, and the decisions of people. */
export function ThreadState({ of }: { of: Item }) {
  const { state, answer, written } = of
  return (
    <>
      {written?.outdated === true && <Badge>outdated</Badge>}
      {state === 'resolved' ? (
        <Badge tone="merged">resolved</Badge>
      ) : answer === null ? (
        <Badge tone="warn">open</Badge>
      ) : answer.outcome === 'declined' ? (
        <Badge tone="neutral">declined</Badge>
      ) : (
        <Badge tone="good">done{answer.commit === null ? '' : ` in ${shortCommit(answer.commit)}`}</Badge>
      )}
    </>
  )
}

/** A thread with its answers, and what one can do with it. `aside` stands at the right of the actions. */
export function ThreadCard({ cr, of, aside }: { cr: ChangeRequest; of: Item; aside?: ReactNode }) {
  const [isOpen, setOpen] = useState(of.state !== 'resolved')
  const { review, replies } = of
  const author = review.created_by_name ?? 'A former member'
  return (
    <article
      aria-label={`Comment by ${author}`}
      className="overflow-hidden rounded-lg border border-line bg-raised font-sans text-sm whitespace-normal"
    >
      <div className="flex flex-col gap-1.5 px-3 py-2.5">
        <p className="flex flex-wrap items-center gap-2">
          <Avatar name={author} />
          <span className="font-semibold">{author}</span>
          <ThreadState of={of} />
          <Time at={review.created_at} />
          {of.state === 'resolved' && (
            <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {isOpen ? 'Hide' : 'Show'}
            </Button>
          )}
        </p>
        {isOpen && <CommentText text={of.text} quote={of.written?.quote ?? ''} />}
      </div>
      {isOpen && replies.map((each) => <ReplyRow key={each.reply_id} of={each} />)}
      {isOpen && <Actions cr={cr} of={of} aside={aside} />}
    </article>
  )
}

function ReplyRow({ of }: { of: Item['replies'][number] }) {
  const isAgent = of.session_id !== null
  const who = isAgent ? 'Agent' : (of.created_by_name ?? 'A former member')
  return (
    <div className="flex flex-col gap-1.5 border-t border-line px-3 py-2.5">
      <p className="flex flex-wrap items-center gap-2">
        <Avatar name={who} of={isAgent ? 'agent' : 'person'} />
        <span className="font-semibold">{who}</span>
        {of.outcome === 'done' && (
          <Badge tone="good">done{of.commit === null ? '' : ` in ${shortCommit(of.commit)}`}</Badge>
        )}
        {of.outcome === 'declined' && <Badge>declined</Badge>}
        <Time at={of.created_at} />
      </p>
      {of.text !== '' && <Prose>{of.text}</Prose>}
    </div>
  )
}

const comment = '/v1/projects/{projectId}/change-requests/{crId}/reviews/comments/{commentId}'

const typedReply = ({ comment_id }: Item) => `svc-reply-${comment_id}`

function Actions({ cr, of, aside }: { cr: ChangeRequest; of: Item; aside?: ReactNode }) {
  // A reply that was typed and not sent shows again with its thread.
  const [typed] = useTyped(typedReply(of), '')
  const [isReplying, setReplying] = useState(typed !== '')
  const path = { ...pathOf(cr), commentId: of.comment_id }
  const refetch = [['project', cr.project_id, 'change-request', cr.cr_id, 'reviews']]
  const resolving = useSend('PATCH', comment, { path, refetch })
  const isResolved = of.state === 'resolved'
  return (
    <div className="flex flex-col gap-2 border-t border-line px-3 py-2">
      {isReplying && <ReplyForm cr={cr} of={of} onDone={() => setReplying(false)} />}
      {resolving.isError && <Failure error={resolving.error} />}
      {!isReplying && (
        <div className="flex flex-wrap items-center gap-2">
          <Button busy={resolving.isPending} onClick={() => resolving.mutate({ resolved: !isResolved })}>
            {isResolved ? 'Reopen' : 'Resolve'}
          </Button>
          <Button kind="quiet" onClick={() => setReplying(true)}>
            Reply
          </Button>
          <Suggested cr={cr} of={of} />
          <span className="ml-auto text-xs text-dim">{aside}</span>
        </div>
      )}
    </div>
  )
}

/** Applies the suggestion of a comment, or says why that is impossible. */
function Suggested({ cr, of: { written, state } }: { cr: ChangeRequest; of: Item }) {
  if (written === null || written.suggestion == null || state === 'resolved' || cr.status !== 'open') return null
  const isApplicable = canApply(cr, written)
  return (
    <>
      <ApplyButton cr={cr} threads={isApplicable ? [written] : []} />
      {!isApplicable && (
        <span className="text-xs text-dim">Can't apply the suggestion. {written.suggestion.refusal}</span>
      )}
    </>
  )
}

function ReplyForm({ cr, of, onDone }: { cr: ChangeRequest; of: Item; onDone: () => void }) {
  const [text, setText] = useTyped(typedReply(of), '')
  const sending = useSend('POST', `${comment}/replies`, {
    path: { ...pathOf(cr), commentId: of.comment_id },
    once: true,
    refetch: [['project', cr.project_id, 'change-request', cr.cr_id]],
    onSuccess: (_reply, { text: sent }) => {
      setText((now) => (now === sent ? '' : now))
      onDone()
    },
  })
  const canSend = cr.origin_session_id !== null && cr.status !== 'merged'
  const modelRefusal = useAgentRefusal(cr.project_id, canSend ? cr.origin_session_id : null)
  const refusal = text.trim() === '' ? 'Enter a reply' : null
  const submit = (send: boolean) =>
    refusal === null && (!send || modelRefusal === null) && !sending.isPending && sending.mutate({ text, send })
  return (
    <Form className="flex flex-col gap-2" onSubmit={() => submit(canSend)}>
      {sending.isError && <Failure error={sending.error} />}
      <TextArea label="Reply" rows={3} value={text} onChange={setText} onSend={() => submit(canSend)} autoFocus />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" busy={sending.isPending} disabledReason={modelRefusal ?? refusal}>
          {canSend ? 'Send to the agent' : 'Reply'}
        </Button>
        {canSend && (
          <Button disabledReason={refusal} onClick={() => submit(false)}>
            Only comment
          </Button>
        )}
        <Button kind="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
      {modelRefusal !== null && <ModelRefusal />}
    </Form>
  )
}

/** The lines that a comment is about, as the reviewer saw them. */
export function Quoted({ of }: { of: Thread }) {
  const { path, line, start_line } = of.current ?? of
  return (
    <figure className="overflow-hidden rounded-t-md border border-b-0 border-line">
      <figcaption className="bg-raised px-3 py-1 font-mono text-xs text-dim">
        {visibleName(path)}:{start_line === null ? line : `${start_line}-${line}`}
        {of.side === 'old' && ' (before)'}
      </figcaption>
      {of.quote !== '' && (
        <pre tabIndex={0} className="overflow-x-auto border-t border-line bg-sunken px-3 py-2 font-mono text-xs">
          {of.quote}
        </pre>
      )}
    </figure>
  )
}
