import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { Failure } from '../../../components/requests.tsx'
import { Button } from '../../../ui/form.tsx'
import { Time } from '../../../ui/text.tsx'
import { type Message, type Session, timeline } from '../queries.ts'
import { LongList } from '../../../ui/long-list.tsx'
import { useAuthors } from './authors.ts'
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
  isLoaded,
  isReconnecting,
}: {
  /** The API path of the session. */
  address: string
  conversation: Loaded
  session: Session
  busy: boolean
  /** The stream has sent the current state. */
  isLoaded: boolean
  isReconnecting: boolean
}) {
  const { messages, earlier } = conversation
  const { state, load } = earlier
  const { asleep_since: asleepSince } = session
  const authorOf = useAuthors(session, messages)
  const isTurnOver = isLoaded && !busy
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant')
  const onShown = useCallback(
    (first: number) => {
      if (first < nearTheFirst && state === 'there') load()
    },
    [state, load],
  )
  return (
    <section aria-label="Conversation" className="flex flex-col gap-4">
      {session.transcript_deleted_at != null && state === 'none' && (
        <p className="text-center text-sm text-faint">
          Earlier messages were deleted <Time at={session.transcript_deleted_at} />, as old as this server keeps them.
        </p>
      )}
      {messages.length > 0 && <Beginning state={state} load={load} />}
      {earlier.error !== null && <Failure error={earlier.error} retry={load} />}
      <LongList
        label="Messages"
        rows={messages}
        keyOf={({ message_id }) => message_id}
        rowPx={messagePx}
        gapPx={12}
        total={state === 'none' ? messages.length : null}
        beginsAt="end"
        onShown={onShown}
      >
        {(message, at) => (
          <MessageItem
            message={message}
            {...(message.role === 'user' ? { author: authorOf(message) } : answerAuthor(messages, at, session))}
            address={address}
            isOver={isTurnOver || at !== lastAnswer}
            isQueued={busy && at > lastAnswer && hasOpenAnswer(messages[lastAnswer])}
          />
        )}
      </LongList>
      <PendingPrompts session={session} busy={busy} isEmpty={isLoaded && messages.length === 0} />
      <div className="min-h-6 pl-8 text-sm text-dim">
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

/** A fixed height, so that the messages do not move. */
function Beginning({ state, load }: Pick<Loaded['earlier'], 'state' | 'load'>) {
  return (
    <p className="flex min-h-7 items-center justify-center text-sm text-faint" role="status">
      {state === 'none' && <span data-beginning="">Start of the conversation</span>}
      {state === 'loading' && 'Loading earlier messages…'}
      {state === 'there' && (
        <Button kind="quiet" onClick={load}>
          Show earlier messages
        </Button>
      )}
    </p>
  )
}

/** An answer is many messages of the runtime. Only its first names the agent. */
function answerAuthor(messages: readonly Message[], at: number, { agent_name: agent, model }: Session) {
  if (messages[at - 1]?.role === 'assistant') return { author: null }
  return { author: 'Agent', detail: model === null ? agent : `${agent} · ${model}` }
}

const hasOpenAnswer = (answer: Message | undefined) => answer !== undefined && answer.completed_at === null

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
