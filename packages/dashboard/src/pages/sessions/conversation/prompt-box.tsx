import { useMutation } from '@tanstack/react-query'
import { api, onlyOnce, reply } from '../../../api.ts'
import { Failure } from '../../../components/failure.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { useStored } from '../../../browser/use-stored.ts'
import type { Session } from '../queries.ts'
import { Button } from '../../../ui/button.tsx'
import { TextArea } from '../../../ui/field.tsx'
import { AttachButton, ChosenList, useChosenFiles } from './attach-files.tsx'
import { RestartWithAgent } from '../restart-with-agent.tsx'

/** The draft survives a reload. */
export function PromptBox({ session, busy }: { session: Session; busy: boolean }) {
  const [text, setText] = useStored(`svc-prompt-${session.session_id}`, '')
  const chosen = useChosenFiles()
  const path = { projectId: session.project_id, sessionId: session.session_id }
  const send = useMutation({
    mutationFn: async (text: string) =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
          params: { path, header: onlyOnce() },
          body: { text, ...(await chosen.read()) },
        }),
      ),
    // A failed prompt appears in the conversation. Its text stays here, so that the user can send it again.
    onSuccess: ({ status }) => {
      if (status === 'failed') return
      setText('')
      chosen.clear()
    },
  })
  const abort = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/abort', { params: { path } })),
  })
  const roleRefusal = useWriteRefusal(session.account_id)
  const refusal = roleRefusal ?? chosen.refusal ?? (text.trim() === '' ? 'Enter a prompt' : null)
  const submit = () => refusal === null && !send.isPending && send.mutate(text)
  const isStopped = session.status === 'stopped' || session.status === 'failed'
  return (
    <div className="sticky bottom-0 flex flex-col gap-2 border-t border-line bg-ground py-3">
      {send.data?.error?.code === 'agent_not_found' && <RestartWithAgent session={session} onRestarted={send.reset} />}
      <form
        {...chosen.target}
        className={`flex flex-col gap-2 ${chosen.isDraggedOver ? 'rounded-md outline-2 outline-accent' : ''}`}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        {(send.error ?? abort.error) !== null && <Failure error={send.error ?? abort.error} />}
        <TextArea
          label={isStopped ? 'Prompt (restarts the session)' : 'Prompt'}
          value={text}
          onChange={setText}
          onSend={submit}
          rows={2}
          className="max-h-[40dvh]"
        />
        <ChosenList chosen={chosen} />
        <div className="flex flex-wrap items-center justify-end gap-2">
          <AttachButton chosen={chosen} />
          {busy && (
            <Button busy={abort.isPending} onClick={() => abort.mutate()}>
              Stop the agent
            </Button>
          )}
          <Button type="submit" kind="primary" busy={send.isPending} disabledReason={refusal}>
            Send
          </Button>
        </div>
      </form>
    </div>
  )
}
