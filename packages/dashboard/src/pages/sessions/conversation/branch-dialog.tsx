/** The first prompt of a session that continues after a turn of this one. */
import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useState } from 'react'
import { ModelRefusal, useModelRefusal } from '../../../components/no-model.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { Button, Form, TextArea } from '../../../ui/form.tsx'
import type { Session } from '../queries.ts'
import { AttachButton, ChosenList, useChosenFiles } from './attach-files.tsx'

export default function BranchDialog({
  session,
  messageId,
  onClose,
}: {
  session: Session
  messageId: string
  onClose: () => void
}) {
  const { slug } = useProject()
  const { project_id: projectId, session_id, agent_name: agent, model } = session
  const [prompt, setPrompt] = useState('')
  const chosen = useChosenFiles(null)
  const navigate = useNavigate()
  const make = useSend('POST', '/v1/projects/{projectId}/sessions', {
    request: async (prompt: string) => ({
      path: { projectId },
      body: {
        from: { session_id, message_id: messageId },
        ...(prompt.trim() === '' ? {} : { initial_prompt: prompt }),
        ...(await chosen.read()),
      },
    }),
    once: true,
    onSuccess: ({ session_id: sessionId }) => navigate({ to: paths.session, params: { project: slug, sessionId } }),
    refetch: [['project', projectId, 'sessions']],
  })
  const lacksPrompt = chosen.files.length > 0 && prompt.trim() === ''
  const modelRefusal = useModelRefusal(model)
  const refusal =
    (prompt.trim() === '' ? null : modelRefusal) ??
    chosen.refusal ??
    (lacksPrompt ? 'Enter a prompt for the attached files' : null)
  const start = () => refusal === null && !make.isPending && make.mutate(prompt)
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Dialog.Popup className="fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-xl max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col gap-3 overflow-y-auto rounded-lg border border-edge bg-raised p-5 shadow-float outline-none">
          <header className="flex items-start gap-3">
            <Dialog.Title className="min-w-0 flex-1 font-semibold">Branch from here</Dialog.Title>
            <Dialog.Close
              aria-label="Close"
              className="-mt-1 -mr-1 grid size-control place-items-center rounded-md text-dim hover:bg-hover"
            >
              <X aria-hidden className="size-4" />
            </Dialog.Close>
          </header>
          <Dialog.Description className="text-sm text-dim">
            A new session continues after this turn, on a branch of its own: with the code as it was then, including
            changes that were not pushed, and with the conversation up to here. This session stays as it is.
          </Dialog.Description>
          <Form className="flex flex-col gap-3" onSubmit={start}>
            <TextArea
              label="First prompt (optional)"
              hint={`Agent: ${agent}${model === null ? '' : ` · ${model}`}`}
              value={prompt}
              onChange={setPrompt}
              onSend={start}
              autoFocus
              {...chosen.target}
            />
            <ChosenList chosen={chosen} />
            {modelRefusal !== null && <ModelRefusal />}
            {make.error !== null && <Failure error={make.error} />}
            <div className="flex flex-wrap items-center justify-end gap-2">
              <span className="mr-auto">
                <AttachButton chosen={chosen} />
              </span>
              <Button onClick={onClose}>Cancel</Button>
              <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
                Start session
              </Button>
            </div>
          </Form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
