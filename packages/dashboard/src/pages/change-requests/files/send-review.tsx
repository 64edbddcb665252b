import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../../api.ts'
import { askAgain } from '../../../ask-again.ts'
import { Failure } from '../../../components/failure.tsx'
import type { ChangeRequest } from '../../../queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { TextArea } from '../../../ui/field.tsx'
import type { DraftComment } from './drafts.ts'

/** All comments together, as one prompt to the session; without a session they are kept with the change request. */
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
  const queries = useQueryClient()
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
    onSettled: askAgain(queries, ['project', projectId]),
  })
  const counted = written.length === 1 ? '1 comment' : `${written.length} comments`
  const refusal = body.trim() === '' && written.length === 0 ? 'Comment on a line or write a word first' : null
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
        <TextArea
          label="What you want to say about all of it"
          value={body}
          onChange={(event) => setBody(event.target.value)}
          onSend={submit}
        />
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" kind="primary" busy={sending.isPending} disabledReason={refusal}>
            {send ? 'Send to the session' : 'Keep with the change request'}
          </Button>
          <p className="text-sm text-dim">
            {send
              ? 'The agent gets it as one prompt. A stopped session is started again.'
              : 'There is no session to send it to.'}
          </p>
        </div>
      </form>
    </Card>
  )
}

function asComment({ path, side, line, start_line, quote, text }: DraftComment) {
  return { path, side, line, start_line, quote, text }
}
