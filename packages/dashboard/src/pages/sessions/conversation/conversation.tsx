import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { linkClass } from '../../../components/links.tsx'
import { Failure } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { paths } from '../../../paths.ts'
import { Button } from '../../../ui/form.tsx'
import { Time } from '../../../ui/text.tsx'
import { type Message, type Prompt, type Session, session as sessionQuery, timeline } from '../queries.ts'
import { LongList } from '../../../ui/long-list.tsx'
import { Answers, useAnswers } from './answers.tsx'
import { BranchFromHere, endsTurn } from './branch-from-here.tsx'
import { useAuthors } from './authors.ts'
import { MessageItem } from './message.tsx'
import { unfold } from './foldable.tsx'
import { PendingPrompts } from './pending-prompts.tsx'
import { PlaceContext, type Target } from './place.ts'
import type { Conversation as Loaded } from './use-conversation.ts'
import type { Outgoing } from './use-draft.ts'
import { isUnanswered, WriteAgain } from './write-again.tsx'

/** Earlier messages load when the reader is this close to the first loaded one. */
const nearTheFirst = 10
const messagePx = 140

interface ConversationProps {
  /** The API path of the session. */
  address: string
  conversation: Loaded
  session: Session
  busy: boolean
  /** The stream has sent the current state. */
  isLoaded: boolean
  isReconnecting: boolean
  /** The message or call of the link that was followed. */
  target: Target | null
  /** The prompts that were sent from here. */
  outgoing: readonly Outgoing[]
  /** Takes a prompt that the agent did not get to be written anew. */
  onEdit: (prompt: Pick<Prompt, 'text' | 'attachments'>) => Promise<void>
}

/** Follows new messages while the reader is at the end, and never scrolls a reader further up. */
export function Conversation({
  address,
  conversation,
  session,
  busy,
  isLoaded,
  isReconnecting,
  target,
  outgoing,
  onEdit,
}: ConversationProps) {
  const { messages } = conversation
  const { state, load } = conversation.earlier
  const { authorOf, agentFor } = useAuthors(session, messages)
  const answers = useAnswers(session, messages)
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant')
  const onShown = useCallback(
    (first: number) => {
      if (first < nearTheFirst && state === 'there') load()
    },
    [state, load],
  )
  const isResting = isLoaded && !busy
  const mayWrite = useWriteRefusal(session.account_id) === null
  const place = usePlace(session, { target, conversation, isLoaded })
  return (
    <section aria-label="Conversation" className="flex flex-col gap-4">
      <Earlier of={conversation} deletedAt={session.transcript_deleted_at ?? null} />
      {state === 'none' && session.continues != null && <Continues {...session.continues} />}
      <PlaceContext value={place}>
        <LongList
          label="Messages"
          rows={messages}
          keyOf={({ message_id }) => message_id}
          rowPx={messagePx}
          gapPx={12}
          total={state === 'none' ? messages.length : null}
          beginsAt="end"
          target={target?.message ?? null}
          onShown={onShown}
        >
          {(message, at) => (
            <div className="group">
              <MessageItem
                message={message}
                {...(message.role === 'user' ? { author: authorOf(message) } : answerAuthor(messages, at, agentFor))}
                address={address}
                isOver={isResting || at !== lastAnswer}
              />
              <Answers session={session} questions={answers.get(message.message_id)} />
              {mayWrite && isUnanswered(message) && <WriteAgain session={session} message={message} onEdit={onEdit} />}
              {mayWrite && endsTurn(messages, at, isResting) && (
                <BranchFromHere session={session} message={message} isNewest={at === lastAnswer} />
              )}
            </div>
          )}
        </LongList>
      </PlaceContext>
      <PendingPrompts
        session={session}
        messages={messages}
        busy={busy}
        isEmpty={isLoaded && messages.length === 0}
        outgoing={outgoing}
        onEdit={onEdit}
      />
      <AgentLine session={session} busy={busy} isReconnecting={isReconnecting} />
    </section>
  )
}

function Earlier({ of: { messages, earlier }, deletedAt }: { of: Loaded; deletedAt: string | null }) {
  const { state, load, error } = earlier
  return (
    <>
      {deletedAt !== null && state === 'none' && (
        <p className="text-center text-sm text-faint">
          Earlier messages were deleted <Time at={deletedAt} />, as old as this server keeps them.
        </p>
      )}
      {messages.length > 0 && <Beginning state={state} load={load} />}
      {error !== null && <Failure error={error} retry={load} />}
    </>
  )
}

function Continues({ session_id: sessionId, message_id: message }: NonNullable<Session['continues']>) {
  const { project_id, slug } = useProject()
  const { data } = useQuery(sessionQuery(project_id, sessionId))
  return (
    <p className="text-center text-sm text-dim">
      Continues from{' '}
      <Link
        className={linkClass}
        to={paths.session}
        params={{ project: slug, sessionId }}
        search={message === null ? {} : { message }}
      >
        {data?.name ?? 'another session'}
      </Link>
      . The agent knows that conversation up to there.
    </p>
  )
}

/** Loads earlier messages until the target is there. */
function usePlace(
  { project_id: projectId, branch_name: branch }: Session,
  {
    target,
    conversation: { messages, earlier },
    isLoaded,
  }: { target: Target | null; conversation: Loaded; isLoaded: boolean },
) {
  const isShown = useRef(false)
  const { state, load } = earlier
  useEffect(() => {
    const isMissing = target !== null && !messages.some(({ message_id }) => message_id === target.message)
    if (isMissing && isLoaded && state === 'there') load()
  }, [target, messages, isLoaded, state, load])
  return useMemo(() => {
    isShown.current = false
    if (target?.part != null) unfold(target.part)
    return { projectId, branch, target, isShown }
  }, [projectId, branch, target])
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
function answerAuthor(messages: readonly Message[], at: number, agentFor: ReturnType<typeof useAuthors>['agentFor']) {
  if (messages[at - 1]?.role === 'assistant') return { author: null }
  const isAnswered = ({ role, message_id: id, prompt_id }: Message) => role === 'user' && id !== prompt_id
  return { author: 'Agent', detail: agentFor(messages.findLast((message, n) => n < at && isAnswered(message))) }
}

function AgentLine({ isReconnecting, ...of }: { session: Session; busy: boolean; isReconnecting: boolean }) {
  const { asleep_since: asleepSince } = of.session
  return (
    <div className="min-h-6 pl-8 text-sm text-dim">
      <p role="status">{isReconnecting ? 'Reconnecting…' : <AgentState {...of} />}</p>
      {asleepSince != null && !of.busy && !isReconnecting && (
        <p>
          The agent fell asleep <Time at={asleepSince} />. The next prompt wakes it.
        </p>
      )}
    </div>
  )
}

function AgentState({ session, busy }: { session: Session; busy: boolean }) {
  const { status, waiting_for: waitingFor, asleep_since: asleepSince } = session
  const { data } = useQuery(timeline(session))
  if (waitingFor === 'person') return 'The agent is waiting for your answer.'
  if (status === 'provisioning') {
    const step = data?.phases.at(-1)
    if (step === undefined || step.ms !== null) return 'The session is starting…'
    if (step.name === 'queue') return 'Waiting for a place to start…'
    return step.note ?? 'The session is starting…'
  }
  if (!busy) return ''
  return asleepSince == null ? 'The agent is working…' : 'Waking the agent…'
}
