import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../../api.ts'
import { useInvalidate } from '../../../cache/invalidate.ts'
import { Failure } from '../../../components/failure.tsx'
import type { ChangeRequest } from '../queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { TextArea } from '../../../ui/field.tsx'
import type { DraftComment } from './drafts.ts'

/** Sends all comments as one prompt to the session. Without a session the change request keeps them. */
export function SendReview({
  projectId,
  cr,
  headSha,
  drafts,
  onSent,
}: {
  projectId: string
  cr: ChangeRequest
  headSha: string
  drafts: DraftComment[]
  onSent: () => void
}) {
  const [body, setBody] = useState('')
  const written = drafts.filter(({ text }) => text !== '')
  const send = cr.origin_session_id !== null && cr.status !== 'merged'
  const sending = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/change-requests/{crId}/reviews', {
          params: { path: { projectId, crId: cr.cr_id }, header: onlyOnce() },
          body: { head_sha: headSha, body, comments: written.map(asComment), send },
        }),
      ),
    onSuccess: () => {
      setBody('')
      onSent()
    },
    onSettled: useInvalidate(['project', projectId]),
  })
  const counted = written.length === 1 ? '1 comment' : `${written.length} comments`
  const refusal = body.trim() === '' && written.length === 0 ? 'Write a summary or comment on a line' : null
  const submit = () => refusal === null && !sending.isPending && sending.mutate()
  return (
    <Card title={`Your review: ${counted}`}>
      <form
        className="flex flex-col gap-3 px-4 py-3"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        {sending.isError && <Failure error={sending.error} />}
        <TextArea label="Summary" value={body} onChange={setBody} onSend={submit} />
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" kind="primary" busy={sending.isPending} disabledReason={refusal}>
            {send ? 'Send review' : 'Save review'}
          </Button>
          <p className="text-sm text-dim">
            {send
              ? 'Sends all comments to the agent as one prompt. A stopped session restarts.'
              : 'Saved with the change request, because it has no session.'}
          </p>
        </div>
      </form>
    </Card>
  )
}

function asComment({ path, side, line, start_line, quote, text }: DraftComment) {
  return { path, side, line, start_line, quote, text }
}
