import { useEffect, useRef, useState } from 'react'
import type { Message } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { MessageItem } from './message.tsx'

/** As many as are drawn at once; the rest a click away. */
const pageOf = 100

/** Follows the end while the reader is there, and never moves the scroll of one who reads further up. */
export function Conversation({ messages, busy }: { messages: Message[]; busy: boolean }) {
  const [pages, setPages] = useState(1)
  const end = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const shown = messages.slice(-pages * pageOf)
  const hidden = messages.length - shown.length
  useEffect(() => {
    const look = () => {
      follows.current = document.documentElement.scrollHeight - innerHeight - scrollY < 120
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  useEffect(() => {
    if (follows.current) end.current?.scrollIntoView({ block: 'end' })
  }, [messages, busy])
  return (
    <section aria-label="Conversation" className="flex flex-col gap-4">
      {hidden > 0 && (
        <Button kind="quiet" className="self-center" onClick={() => setPages(pages + 1)}>
          Show {Math.min(hidden, pageOf)} of {hidden} earlier messages
        </Button>
      )}
      <ol className="flex flex-col gap-4">
        {shown.map((message) => (
          <li key={message.message_id}>
            <MessageItem message={message} />
          </li>
        ))}
      </ol>
      <p role="status" className="min-h-6 px-4 text-sm text-dim">
        {busy ? 'The agent is at work…' : ''}
      </p>
      <div ref={end} />
    </section>
  )
}
