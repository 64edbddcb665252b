import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { Failure } from '../../../components/requests.tsx'
import { Button } from '../../../ui/form.tsx'
import { Time } from '../../../ui/text.tsx'
import { type Session, timeline } from '../queries.ts'
import { LongList } from '../../../ui/long-list.tsx'
import { MessageItem } from './message.tsx'
import { PendingPrompts } from './pending-prompts.tsx'
import type { Conversation as Loaded } from './use-conversation.ts'

/** Earlier messages load when the reader is this close to the first loaded one. */
const nearTheFirst = 10
const messagePx = 140

/** Follows new messages while the reader is at the end, and never scrolls a reader further up. */
export function Conversation({
  address,
  conversation,
  session,
  busy,
  isTurnOver,
  isReconnecting,
}: {
  /** The API path of the session. */
  address: string
  conversation: Loaded
  session: Session
  busy: boolean
  /** No turn runs; false until the stream says so. */
  isTurnOver: boolean
  isReconnecting: boolean
}) {
  const { messages, earlier } = conversation
  const { state, load } = earlier
  const { asleep_since: asleepSince } = session
  const lastAnswerId = messages.findLast(({ role }) => role === 'assistant')?.message_id
  const onShown = useCallback(
    (first: number) => {
      if (first < nearTheFirst && state === 'there') load()
    },
    [state, load],
  )
  return (
    <section aria-label="Conversation" className="flex flex-col gap-4">
      {messages.length > 0 && (
        // A fixed height, so that the messages do not move.
        <p className="flex min-h-9 items-center justify-center text-sm text-dim" role="status">
          {state === 'none' && <span data-beginning="">Start of the conversation</span>}
          {state === 'loading' && 'Loading earlier messages…'}
          {state === 'there' && (
            <Button kind="quiet" onClick={load}>
              Show earlier messages
            </Button>
          )}
        </p>
      )}
      {earlier.error !== null && <Failure error={earlier.error} retry={load} />}
      <LongList
        label="Messages"
        rows={messages}
        keyOf={({ message_id }) => message_id}
        rowPx={messagePx}
        gapPx={16}
        total={state === 'none' ? messages.length : null}
        beginsAt="end"
        onShown={onShown}
      >
        {(message) => (
          <MessageItem message={message} address={address} isOver={isTurnOver || message.message_id !== lastAnswerId} />
        )}
      </LongList>
      <PendingPrompts session={session} busy={busy} />
      <div className="min-h-6 px-4 text-sm text-dim">
        <p role="status">{isReconnecting ? 'Reconnecting…' : <AgentState session={session} busy={busy} />}</p>
        {asleepSince != null && !busy && !isReconnecting && (
          <p>
            The agent fell asleep <Time at={asleepSince} />. The next prompt wakes it.
          </p>
        )}
      </div>
    </section>
  )
}

function AgentState({ session, busy }: { session: Session; busy: boolean }) {
  const { status, waiting_for: waitingFor, asleep_since: asleepSince } = session
  const { data } = useQuery(timeline(session))
  if (waitingFor === 'person') return 'The agent is waiting for your answer.'
  if (status === 'provisioning') {
    const step = data?.phases.at(-1)
    return step?.name === 'queue' && step.ms === null ? 'Waiting for a place to start…' : 'The session is starting…'
  }
  if (!busy) return ''
  return asleepSince == null ? 'The agent is working…' : 'Waking the agent…'
}
