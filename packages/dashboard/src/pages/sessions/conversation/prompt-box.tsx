import { Failure, useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { useStored } from '../../../browser/use-stored.ts'
import { pathOf, type Session } from '../queries.ts'
import { Button, Form, TextArea } from '../../../ui/form.tsx'
import { AttachButton, ChosenList, useChosenFiles } from './attach-files.tsx'
import { RestartWithAgent } from '../restart-with-agent.tsx'

/** The draft survives a reload. */
export function PromptBox({ session, busy }: { session: Session; busy: boolean }) {
  const [text, setText] = useStored(`svc-prompt-${session.session_id}`, '')
  const chosen = useChosenFiles()
  const path = pathOf(session)
  const send = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
    request: async (text: string) => ({ path, body: { text, ...(await chosen.read()) } }),
    once: true,
    // A failed prompt appears in the conversation. Its text stays here, so that the user can send it again.
    onSuccess: ({ status }) => {
      if (status === 'failed') return
      setText('')
      chosen.clear()
    },
  })
  const abort = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/abort', { path })
  const roleRefusal = useWriteRefusal(session.account_id)
  const refusal = roleRefusal ?? chosen.refusal ?? (text.trim() === '' ? 'Enter a prompt' : null)
  const submit = () => refusal === null && !send.isPending && send.mutate(text)
  const isStopped = session.status === 'stopped' || session.status === 'failed'
  const effect = isStopped ? ' (restarts the session)' : session.asleep_since == null ? '' : ' (wakes the agent)'
  return (
    <div className="sticky bottom-0 flex flex-col gap-2 border-t border-line bg-ground py-3">
      {send.data?.error?.code === 'agent_not_found' && <RestartWithAgent session={session} onRestarted={send.reset} />}
      <Form
        {...chosen.target}
        className={`flex flex-col gap-2 ${chosen.isDraggedOver ? 'rounded-md outline-2 outline-accent' : ''}`}
        onSubmit={submit}
      >
        {(send.error ?? abort.error) !== null && <Failure error={send.error ?? abort.error} />}
        <TextArea
          label={`Prompt${effect}`}
          value={text}
          onChange={setText}
          onSend={submit}
          rows={2}
          className="max-h-[40dvh]"
        />
        <ChosenList chosen={chosen} />
        <div className="flex flex-wrap items-center justify-end gap-2">
          <AttachButton chosen={chosen} />
          {busy && <Button action={abort}>Stop the agent</Button>}
          <Button type="submit" kind="primary" busy={send.isPending} disabledReason={refusal}>
            Send
          </Button>
        </div>
      </Form>
    </div>
  )
}
