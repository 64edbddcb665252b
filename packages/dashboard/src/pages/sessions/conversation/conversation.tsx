import { useCallback } from 'react'
import { Failure } from '../../../components/requests.tsx'
import { Button } from '../../../ui/form.tsx'
import { LongList } from '../../../ui/long-list.tsx'
import { MessageItem } from './message.tsx'
import type { Conversation as Loaded } from './use-conversation.ts'

/** Earlier messages load when the reader is this close to the first loaded one. */
const nearTheFirst = 10
const messagePx = 140

/** Follows new messages while the reader is at the end, and never scrolls a reader further up. */
export function Conversation({
  address,
  conversation,
  busy,
  waitingFor,
}: {
  /** The API path of the session. */
  address: string
  conversation: Loaded
  busy: boolean
  waitingFor: 'person' | null
}) {
  const { messages, earlier } = conversation
  const { state, load } = earlier
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
        {(message) => <MessageItem message={message} address={address} />}
      </LongList>
      <p role="status" className="min-h-6 px-4 text-sm text-dim">
        {waitingFor === 'person' ? 'The agent is waiting for your answer.' : busy ? 'The agent is working…' : ''}
      </p>
    </section>
  )
}
