import { useCallback } from 'react'
import { Failure } from '../../components/failure.tsx'
import { Button } from '../../ui/button.tsx'
import { LongList } from '../../ui/long-list.tsx'
import { MessageItem } from './message.tsx'
import type { Conversation as Told } from './use-conversation.ts'

/** Earlier ones are asked for when the reader is this near to the first that is there. */
const nearTheFirst = 10
const messagePx = 140

/** Follows the end while the reader is there, and never moves the scroll of one who reads further up. */
export function Conversation({
  conversation,
  busy,
  waitingFor,
}: {
  conversation: Told
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
        // As high whatever it says, or what is read would move.
        <p className="flex min-h-9 items-center justify-center text-sm text-dim" role="status">
          {state === 'none' && <span data-beginning="">The beginning of the conversation</span>}
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
        {(message) => <MessageItem message={message} />}
      </LongList>
      <p role="status" className="min-h-6 px-4 text-sm text-dim">
        {waitingFor === 'person' ? 'The agent waits for your answer.' : busy ? 'The agent is at work…' : ''}
      </p>
    </section>
  )
}
