import { toolOutcome, toolTarget } from '@svc/contract/schemas/tool-outcome'
import { sizeText } from '@svc/contract/schemas/quotas'
import { type ComponentProps, memo } from 'react'
import { Prose } from '../../../components/markdown.tsx'
import type { Message } from '../queries.ts'

type Part = Message['parts'][number]

/** Renders again only when it changed, so that a long conversation stays fast while its last message grows. */
export const MessageItem = memo(function MessageItem({
  message,
  address,
  isOver,
}: {
  message: Message
  address: string
  /** No call of the message runs any more. */
  isOver: boolean
}) {
  const isUser = message.role === 'user'
  return (
    <article
      aria-label={isUser ? 'Prompt' : 'Answer'}
      className={isUser ? 'rounded-lg bg-raised px-4 py-3' : 'flex flex-col gap-2 px-4'}
    >
      {message.parts.map((part) => (
        <PartView key={part.id} part={part} isUser={isUser} isOver={isOver} address={address} />
      ))}
      {message.error !== null && (
        <p className="text-bad">
          {isUser && <strong>No answer: </strong>}
          {message.error}
        </p>
      )}
    </article>
  )
})

/** `address` is the API path of the session. */
function PartView({
  part,
  isUser,
  isOver,
  address,
}: {
  part: Part
  isUser: boolean
  isOver: boolean
  address: string
}) {
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
      return <ToolCall part={part} isOver={isOver} />
    case 'file':
      return <AttachedFile file={part} address={`${address}/attachments/${part.attachment_id}`} />
    default:
      return part satisfies never
  }
}

/** A fixed height, so that loading the image does not move the messages. */
function AttachedFile({ file, address }: { file: Extract<Part, { type: 'file' }>; address: string }) {
  return (
    <figure className="mt-2 flex max-w-full flex-col items-start gap-1 text-sm">
      {file.content_type.startsWith('image/') && (
        <a href={address} target="_blank" rel="noreferrer">
          <img
            src={address}
            alt={file.name}
            loading="lazy"
            className="h-48 max-w-full rounded-md border border-line object-contain"
          />
        </a>
      )}
      <figcaption className="flex max-w-full flex-wrap gap-x-2">
        <a href={address} download={file.name} className="min-w-0 truncate text-accent hover:underline">
          {file.name}
        </a>
        <span className="text-dim">
          {sizeText(file.bytes)} · {file.content_type}
        </span>
      </figcaption>
    </figure>
  )
}

const noteMsMin = 1_000

function ToolCall({ part, isOver }: { part: Extract<Part, { type: 'tool' }>; isOver: boolean }) {
  const { mark, hasFailed, note } = toolOutcome(part, { isOver })
  const { duration_ms: ms = 0 } = part
  return (
    <Foldable id={part.id} className="rounded-md border border-line text-sm">
      <summary className="flex cursor-pointer items-baseline gap-2 px-3 py-1.5">
        <span aria-label={hasFailed ? 'failed' : part.status} className={hasFailed ? 'text-bad' : 'text-dim'}>
          {mark}
        </span>
        <span className="font-mono text-dim">{part.tool}</span>
        <span className="min-w-0 flex-1 truncate font-mono">{toolTarget(part)}</span>
        {note !== '' && <span className="text-bad">{note}</span>}
        {ms >= noteMsMin && <span className="text-dim">{Math.round(ms / 1000)} s</span>}
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

/** An unfolded part stays unfolded after it was scrolled out of the document. */
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
