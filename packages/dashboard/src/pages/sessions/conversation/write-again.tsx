import { useMutation } from '@tanstack/react-query'
import { api, reply } from '../../../api.ts'
import { Failure } from '../../../components/requests.tsx'
import { Button } from '../../../ui/form.tsx'
import { type Message, pathOf, type Prompt, type Session } from '../queries.ts'

/** A prompt that the agent did not get, such as one that was cancelled. */
export const isUnanswered = ({ role, error }: Message) => role === 'user' && error !== null

/** Puts such a prompt back into the prompt box. */
export function WriteAgain({
  session,
  message,
  onEdit,
}: {
  session: Session
  message: Message
  onEdit: (prompt: Pick<Prompt, 'text' | 'attachments'>) => Promise<void>
}) {
  const take = useMutation({
    async mutationFn() {
      const query = { limit: 200 }
      const route = '/v1/projects/{projectId}/sessions/{sessionId}/prompts'
      const { prompts } = await reply(api.GET(route, { params: { path: pathOf(session), query } }))
      const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')
      await onEdit(prompts.find(({ prompt_id: id }) => id === message.prompt_id) ?? { text, attachments: [] })
    },
  })
  return (
    <div className="mt-2 ml-8">
      <Button busy={take.isPending} onClick={() => take.mutate()}>
        Edit and send again
      </Button>
      {take.isError && <Failure error={take.error} />}
    </div>
  )
}
