import { useMutation } from '@tanstack/react-query'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { useKept } from '../../kept.ts'
import type { Session } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { TextArea } from '../../ui/field.tsx'
import { RestartWithAgent } from './restart-with-agent.tsx'

/** What is being written survives a reload. */
export function PromptBox({ session, busy }: { session: Session; busy: boolean }) {
  const [text, setText] = useKept(`svc-prompt-${session.session_id}`, '')
  const path = { projectId: session.project_id, sessionId: session.session_id }
  const send = useMutation({
    mutationFn: (text: string) =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
          params: { path, header: onlyOnce() },
          body: { text },
        }),
      ),
    // A prompt that failed stands in the conversation; what was written stays here to be sent again.
    onSuccess: ({ status }) => status !== 'failed' && setText(''),
  })
  const abort = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/abort', { params: { path } })),
  })
  const mayNot = useWriteRefusal(session.account_id)
  const submit = () => mayNot === null && text.trim() !== '' && !send.isPending && send.mutate(text)
  const asleep = session.status === 'stopped' || session.status === 'failed'
  return (
    <div className="sticky bottom-0 flex flex-col gap-2 border-t border-line bg-ground py-3">
      {send.data?.error?.code === 'agent_not_found' && <RestartWithAgent session={session} onRestarted={send.reset} />}
      <form
        className="flex flex-col gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        {(send.error ?? abort.error) !== null && <Failure error={send.error ?? abort.error} />}
        <TextArea
          label={asleep ? 'Prompt: the session is started again for it' : 'Prompt'}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onSend={submit}
          rows={2}
          className="max-h-[40dvh]"
        />
        <div className="flex items-center justify-end gap-2">
          {busy && (
            <Button busy={abort.isPending} onClick={() => abort.mutate()}>
              Abort this turn
            </Button>
          )}
          <Button
            type="submit"
            kind="primary"
            busy={send.isPending}
            disabledReason={mayNot ?? (text.trim() === '' ? 'Write a prompt first' : null)}
          >
            Send
          </Button>
        </div>
      </form>
    </div>
  )
}
