import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api, ApiError, reply } from '../../../api.ts'
import { restart } from '../../../cache/invalidate.ts'
import { TypedText } from '../../../components/markdown.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { me, members } from '../../account/queries.ts'
import { Button } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { withCode } from '../../../ui/text.tsx'
import {
  allPrompts,
  type Message,
  pathOf,
  type Prompt,
  promptOutcomes,
  promptsKey,
  type Session,
  waitingPrompts,
} from '../queries.ts'
import { ByAuthor } from './message.tsx'
import { type Pending, pendingPrompts } from './pending.ts'
import type { Outgoing } from './use-draft.ts'

/** The prompts that the agent does not have yet, whoever sent them. */
export function PendingPrompts({
  session,
  messages,
  busy,
  isEmpty,
  outgoing: sent,
  onEdit,
}: {
  session: Session
  messages: readonly Message[]
  busy: boolean
  /** The prompts that were sent from here. */
  outgoing: readonly Outgoing[]
  /** The conversation has no message, so that the task of a failed start would be nowhere. */
  isEmpty: boolean
  onEdit: (prompt: Prompt) => Promise<void>
}) {
  const isWaiting = session.status === 'provisioning' || busy
  const delivered = messages.filter(({ role }) => role === 'user').length
  const { data: listed = [] } = useQuery({ ...waitingPrompts(session, delivered), enabled: isWaiting })
  const known = { messages, waiting: isWaiting ? listed : [], outgoing: sent }
  const { unclear } = pendingPrompts({ ...known, outcomes: [] })
  const { data: outcomes = [] } = useQuery(promptOutcomes(session, unclear))
  const { waiting, outgoing } = pendingPrompts({ ...known, outcomes })
  const { data: all = [] } = useQuery({ ...allPrompts(session), enabled: isEmpty && !isWaiting })
  if (isWaiting || outgoing.before.length + outgoing.after.length > 0)
    return <Queue session={session} prompts={waiting} outgoing={outgoing} onEdit={onEdit} />
  // The conversation has the delivered prompts.
  if (!isEmpty || all.length === 0) return null
  return (
    <ul aria-label="Task" className="flex flex-col gap-4">
      {all.map((prompt) => (
        <PromptItem key={prompt.prompt_id} prompt={prompt} author="Task" note="">
          {prompt.error !== null && <p className="text-sm text-dim">{withCode(prompt.error.message)}</p>}
        </PromptItem>
      ))}
    </ul>
  )
}

function Queue({
  session,
  prompts,
  outgoing,
  onEdit,
}: {
  session: Session
  prompts: readonly Prompt[]
  outgoing: Pending['outgoing']
  onEdit: (prompt: Prompt) => Promise<void>
}) {
  const cancel = useCancel(session, onEdit)
  const refusal = useWriteRefusal(session.account_id)
  const nameOf = useNames(session)
  return (
    <>
      {cancel.error !== null && <NotCancelled session={session} error={cancel.error} onStopped={cancel.reset} />}
      {prompts.length + outgoing.before.length + outgoing.after.length > 0 && (
        <ul aria-label="Waiting prompts" className="flex flex-col gap-4">
          {outgoing.before.map((each) => (
            <OutgoingItem key={each.id} prompt={each} note="Starting…" />
          ))}
          {prompts.map((prompt, at) => (
            <PromptItem key={prompt.prompt_id} prompt={prompt} author={nameOf(prompt)} note={reasonOf(session, at)}>
              {/* The session boots with its first prompt. */}
              {prompt.prompt_id !== session.session_id && (
                <div className="flex flex-wrap gap-2">
                  <Button
                    disabledReason={refusal}
                    busy={cancel.isPending}
                    onClick={() => cancel.mutate({ prompt, isEdited: true })}
                  >
                    Edit prompt
                  </Button>
                  <Button
                    kind="quiet"
                    disabledReason={refusal}
                    busy={cancel.isPending}
                    onClick={() => cancel.mutate({ prompt, isEdited: false })}
                  >
                    Cancel prompt
                  </Button>
                </div>
              )}
            </PromptItem>
          ))}
          {outgoing.after.map((each) => (
            <OutgoingItem key={each.id} prompt={each} note={each.promptId === null ? 'Sending…' : 'Queued'} />
          ))}
        </ul>
      )}
    </>
  )
}

function OutgoingItem({ prompt: { text, sentAt, files }, note }: { prompt: Outgoing; note: string }) {
  const attachments = files.map(({ name }, at) => ({ attachment_id: `${at}`, name }))
  return <PromptItem prompt={{ text, created_at: sentAt, attachments }} author="You" note={note} />
}

function useCancel(session: Session, onEdit: (prompt: Prompt) => Promise<void>) {
  const queries = useQueryClient()
  return useMutation({
    async mutationFn({ prompt, isEdited }: { prompt: Prompt; isEdited: boolean }) {
      const path = { ...pathOf(session), promptId: prompt.prompt_id }
      const route = '/v1/projects/{projectId}/sessions/{sessionId}/prompts/{promptId}'
      await reply(api.DELETE(route, { params: { path } }))
      if (isEdited) await onEdit(prompt)
    },
    onSettled: () => restart(queries, promptsKey(session)),
  })
}

/** The agent was quicker. What remains is to stop its turn. */
function NotCancelled({ session, error, onStopped }: { session: Session; error: Error; onStopped: () => void }) {
  const abort = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/abort', {
    path: pathOf(session),
    onSuccess: onStopped,
  })
  if (!(error instanceof ApiError && error.code === 'conflict')) return <Failure error={error} />
  return (
    <>
      <Notice tone="warn" title={error.message} action={<Button action={abort}>Stop turn</Button>}>
        Stop the turn, or let it finish and send another prompt. The session goes on either way.
      </Notice>
      {abort.isError && <Failure error={abort.error} />}
    </>
  )
}

function useNames({ account_id: accountId }: Session) {
  const own = useQuery(me).data?.user.user_id
  const { data: known } = useQuery({ ...members(accountId), staleTime: 60_000 })
  return ({ created_by: id }: Prompt) => {
    if (id === null) return 'Prompt'
    return id === own ? 'You' : (known?.find(({ user_id }) => user_id === id)?.name ?? 'A former member')
  }
}

function reasonOf({ status, asleep_since: asleepSince }: Session, at: number): string {
  if (at > 0) return 'Queued'
  if (status === 'provisioning') return 'Queued until the session runs'
  return asleepSince == null ? 'Queued until the agent finishes' : 'Queued until the agent is awake'
}

function PromptItem({
  prompt,
  author,
  note,
  children,
}: {
  prompt: Pick<Prompt, 'text' | 'created_at'> & { attachments: readonly { attachment_id: string; name: string }[] }
  author: string
  note: string
  children?: ReactNode
}) {
  return (
    <li>
      <ByAuthor name={author} of="person" at={prompt.created_at} note={note}>
        <TypedText className="text-dim">{prompt.text}</TypedText>
        {prompt.attachments.map(({ attachment_id, name }) => (
          <p key={attachment_id} className="text-sm text-dim">
            Attached: {name}
          </p>
        ))}
        {children}
      </ByAuthor>
    </li>
  )
}
