import { type ComponentProps, memo } from 'react'
import { Prose } from '../../components/markdown.tsx'
import type { Message } from '../../queries.ts'

type Part = Message['parts'][number]

/** Drawn again only when it changed: a long conversation stays quick while its last message grows. */
export const MessageItem = memo(function MessageItem({ message }: { message: Message }) {
  const isUser = message.role === 'user'
  return (
    <article
      aria-label={isUser ? 'Prompt' : 'Answer'}
      className={isUser ? 'rounded-lg bg-raised px-4 py-3' : 'flex flex-col gap-2 px-4'}
    >
      {message.parts.map((part) => (
        <PartView key={part.id} part={part} isUser={isUser} />
      ))}
      {message.error !== null && (
        <p className="text-bad">
          {isUser && <strong>Not answered: </strong>}
          {message.error}
        </p>
      )}
    </article>
  )
})

function PartView({ part, isUser }: { part: Part; isUser: boolean }) {
  switch (part.type) {
    case 'text':
      return isUser ? <p className="whitespace-pre-wrap">{part.text}</p> : <Prose>{part.text}</Prose>
    case 'reasoning':
      return (
        <Foldable id={part.id} className="text-sm text-dim">
          <summary>Thinking</summary>
          <p className="whitespace-pre-wrap">{part.text}</p>
        </Foldable>
      )
    case 'tool':
      return <ToolCall part={part} />
    default:
      return part satisfies never
  }
}

const marks = { pending: '…', running: '…', completed: '✓', error: '✗' } as const

function ToolCall({ part }: { part: Extract<Part, { type: 'tool' }> }) {
  return (
    <Foldable id={part.id} className="rounded-md border border-line text-sm">
      <summary className="flex cursor-pointer items-baseline gap-2 px-3 py-1.5">
        <span aria-label={part.status} className={part.status === 'error' ? 'text-bad' : 'text-dim'}>
          {marks[part.status]}
        </span>
        <span className="font-mono text-dim">{part.tool}</span>
        <span className="min-w-0 flex-1 truncate font-mono">{part.title}</span>
      </summary>
      <div className="flex flex-col gap-2 border-t border-line px-3 py-2">
        {[part.input, part.output].map(
          (text, i) =>
            text !== '' && (
              <pre
                key={i}
                tabIndex={0}
                className="max-h-80 overflow-auto rounded bg-sunken p-2 font-mono text-xs whitespace-pre-wrap"
              >
                {text}
              </pre>
            ),
        )}
      </div>
    </Foldable>
  )
}

/** What is unfolded stays so when it is scrolled away, and with that taken out of the document. */
const unfolded = new Set<string>()

function Foldable({ id, ...rest }: ComponentProps<'details'> & { id: string }) {
  return (
    <details
      {...rest}
      open={unfolded.has(id)}
      onToggle={({ currentTarget }) => (currentTarget.open ? unfolded.add(id) : unfolded.delete(id))}
    />
  )
}
