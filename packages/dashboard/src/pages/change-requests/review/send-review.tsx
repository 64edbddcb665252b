import { useLocation } from '@tanstack/react-router'
import { isUnanswered } from '../../../api.ts'
import { useTyped } from '../../../browser/use-stored.ts'
import { ModelRefusal, useAgentRefusal } from '../../../components/no-model.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useHeldRefusal } from '../../../components/role.ts'
import { type ChangeRequest, pathOf } from '../queries.ts'
import { Button, Form, TextArea } from '../../../ui/form.tsx'
import { Card } from '../../../ui/layout.tsx'
import type { DraftComment, Drafts } from './drafts.ts'
import { reviewField } from './review-field.ts'
import { reviewScope } from './review-state.ts'

/** Sends all comments as one prompt to the session. Without a session the change request keeps them. */
export function SendReview({ cr, headSha, drafts }: { cr: ChangeRequest; headSha: string; drafts: Drafts }) {
  const { hash } = useLocation()
  const [body, setBody] = useTyped(`svc-review-${cr.cr_id}`, '')
  const pending = drafts.drafts.filter(({ text }) => text !== '')
  const comments = pending.map(asComment)
  const send = cr.origin_session_id !== null && cr.status !== 'merged'
  const sending = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/reviews', {
    path: pathOf(cr),
    scope: reviewScope(cr),
    once: true,
    onSuccess: (_reply, { body: sent, comments: all = [], draft_ids: ids = [] }) => {
      setBody((now) => (now === sent ? '' : now))
      drafts.sent(ids.map((id, at) => ({ id, text: all[at]!.text })))
    },
    refetch: [['project', cr.project_id]],
  })
  const counted = comments.length === 1 ? '1 comment' : `${comments.length} comments`
  const held = useHeldRefusal()
  const modelRefusal = useAgentRefusal(cr.project_id, send ? cr.origin_session_id : null)
  const refusal =
    held ??
    modelRefusal ??
    (body.trim() === '' && comments.length === 0 ? 'Write a summary or comment on a line' : null)
  // The service took the comments, but its answer was lost. The same request again gets that answer.
  const { variables: lost } = sending
  const isTaken = isUnanswered(sending.error) && comments.length === 0 && lost?.body === body
  const submit = () =>
    refusal === null &&
    !sending.isPending &&
    sending.mutate(isTaken ? lost : { head_sha: headSha, body, comments, send, draft_ids: pending.map(({ id }) => id) })
  return (
    <Card title={`Your review: ${counted}`}>
      <Form className="flex flex-col gap-3 px-4 py-3" onSubmit={submit}>
        {sending.isError && <Failure error={sending.error} />}
        <TextArea
          id={reviewField}
          label="Summary"
          value={body}
          onChange={setBody}
          onSend={submit}
          autoFocus={hash === reviewField}
        />
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" kind="primary" busy={sending.isPending} disabledReason={refusal}>
            {send ? 'Send review' : 'Save review'}
          </Button>
          <p className="text-sm text-dim">
            {modelRefusal !== null ? (
              <ModelRefusal />
            ) : send ? (
              'Sends all comments to the agent as one prompt. A stopped session restarts.'
            ) : cr.status === 'merged' ? (
              'Saved with the change request. It is merged, so nothing is sent to an agent.'
            ) : (
              'Saved with the change request, because it has no session.'
            )}
          </p>
        </div>
      </Form>
    </Card>
  )
}

function asComment({ path, side, line, start_line, quote, text }: DraftComment) {
  return { path, side, line, start_line, quote, text }
}
