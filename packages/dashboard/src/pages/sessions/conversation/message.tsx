import { sizeText } from '@svc/contract/schemas/quotas'
import { memo, type ReactNode, useRef } from 'react'
import { Prose, TypedText } from '../../../components/markdown.tsx'
import { Avatar } from '../../../ui/avatar.tsx'
import { Time, withCode } from '../../../ui/text.tsx'
import type { Message } from '../queries.ts'
import { Foldable } from './foldable.tsx'
import { useTarget } from './place.ts'
import { ToolCall } from './tool-call.tsx'

type Part = Message['parts'][number]

/** Renders again only when it changed, so that a long conversation stays fast while its last message grows. */
export const MessageItem = memo(function MessageItem({
  message,
  author,
  detail = '',
  address,
  isOver,
}: {
  message: Message
  /** Null for an answer that continues the one before it. */
  author: string | null
  /** The agent and its model. */
  detail?: string
  address: string
  /** No call of the message runs any more. */
  isOver: boolean
}) {
  const isUser = message.role === 'user'
  const isStopped = message.error_code === 'aborted'
  const element = useRef<HTMLElement>(null)
  const isTarget = useTarget(element, { message: message.message_id })
  return (
    <article ref={element} tabIndex={isTarget ? -1 : undefined} aria-label={isUser ? 'Prompt' : 'Answer'}>
      <ByAuthor name={author} of={isUser ? 'person' : 'agent'} at={message.created_at} note={detail}>
        {message.parts.map((part) => (
          <PartView key={part.id} part={part} isUser={isUser} isOver={isOver} address={address} />
        ))}
        {isStopped && <p className="text-sm text-dim">The turn was stopped.</p>}
        {message.error !== null && !isStopped && (
          <p className="rounded-md bg-bad-soft px-3 py-1.5 text-sm text-bad">
            {isUser && <strong>No answer: </strong>}
            {withCode(message.error)}
          </p>
        )}
      </ByAuthor>
    </article>
  )
})

export function ByAuthor({
  name,
  of,
  at,
  note = '',
  children,
}: {
  name: string | null
  of: 'person' | 'agent'
  at: string
  note?: string
  children: ReactNode
}) {
  return (
    <div className="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-x-3">
      {name === null ? <span /> : <Avatar name={name} of={of} />}
      <div className="flex min-w-0 flex-col gap-2">
        {name !== null && (
          <p className="flex flex-wrap items-baseline gap-x-1.5 text-base/5">
            <span className="font-semibold">{name}</span>
            {note !== '' && <span className="text-sm text-faint">{note}</span>}
            <Time at={at} />
          </p>
        )}
        {children}
      </div>
    </div>
  )
}

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
      if (part.text.trim() === '') return null
      return isUser ? <TypedText>{part.text}</TypedText> : <Prose>{part.text}</Prose>
    case 'reasoning':
      if (part.text.trim() === '') return null
      return (
        <Foldable id={part.id} className="text-sm text-dim">
          <summary className="cursor-pointer">Thinking</summary>
          <p className="mt-1 border-l-2 border-line pl-3 whitespace-pre-wrap">{part.text}</p>
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
    <figure className="flex max-w-full flex-col items-start gap-1 text-sm">
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
