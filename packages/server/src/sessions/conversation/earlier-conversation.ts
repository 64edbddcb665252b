/**
 * The conversation of a session's earlier sandboxes, for the agent in a new one. The runtime keeps its conversations
 * in the sandbox and loses them with it; the transcript stays (docs/decisions/0047-the-agent-keeps-its-conversation.md).
 */
import { attachmentPath, attachmentsBytesMax, type Attachment, type Message, type MessagePart } from '@svc/contract'
import type { Db } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { attachmentsOfSession } from '../attachments/store.ts'
import { wipOf } from '../unfinished-work/store.ts'
import { hasAnswer, readTranscript } from './message-store.ts'

/** About 16,000 tokens, which small models can take too. */
const charsMax = 64 * 1024
const textCharsMax = 8_000
const toolCharsMax = 2_000
const pageSize = 20

export interface EarlierConversation {
  note: string
  /** Files of the prompts in the note. The new sandbox does not have them. */
  attachments: Attachment[]
}

/** Null when there is none, or when the runtime of this generation answered already and so knows it. */
export async function readEarlierConversation(
  deps: Pick<Deps, 'db'>,
  { sessionId, generation }: { sessionId: string; generation: number },
): Promise<EarlierConversation | null> {
  if (await hasAnswer(deps.db, sessionId, generation)) return null
  const stored = new Set((await attachmentsOfSession(deps.db, sessionId)).map((each) => each.attachment_id))
  const texts: string[] = []
  const attachments: Attachment[] = []
  let [charsLeft, bytesLeft] = [charsMax, attachmentsBytesMax]
  for await (const message of newestFirst(deps.db, sessionId, generation)) {
    const text = textOf(message)
    const isCut = text.length > charsLeft
    texts.unshift(isCut ? `<${nameOf(message)}>\n… cut here\n${text.slice(-charsLeft).toWellFormed()}` : text)
    charsLeft -= text.length
    for (const part of message.parts)
      if (part.type === 'file' && stored.has(part.attachment_id) && (bytesLeft -= part.bytes) >= 0)
        attachments.push(part)
    if (charsLeft <= 0) break
  }
  if (texts.length === 0) return null
  const hasWork = (await wipOf(deps.db, sessionId)).some((row) => row.recovered_at === null)
  return { note: noteOf(texts, { isCut: charsLeft <= 0, hasWork }), attachments }
}

async function* newestFirst(db: Db, sessionId: string, beforeGeneration: number): AsyncGenerator<Message> {
  let cursor: string | undefined
  do {
    const page = await readTranscript(db, sessionId, { limit: pageSize, cursor, beforeGeneration })
    yield* page.messages.reverse()
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

function noteOf(messages: string[], { isCut, hasWork }: { isCut: boolean; hasWork: boolean }): string {
  return [
    'This session continues in a new sandbox. Its repository was cloned again: commits that were pushed are there, other changes are not.',
    ...(hasWork
      ? ['Changes that were not pushed are saved; `svc sessions recover` brings them into the work tree.']
      : []),
    `The conversation so far follows, with secrets redacted and long output cut.${isCut ? ' Its oldest part is left out.' : ''}`,
    '<conversation>',
    ...messages,
    '</conversation>',
  ].join('\n')
}

const nameOf = ({ role }: Message) => (role === 'user' ? 'person' : 'agent')

function textOf(message: Message): string {
  const lines = message.parts.map(textOfPart).filter((text) => text !== '')
  if (message.error !== null) lines.push(`[error: ${message.error}]`)
  // No output of a tool passes for a message of a person.
  const text = lines.join('\n').replace(/<(?=\/?(?:person|agent|conversation)>)/g, '&lt;')
  return `<${nameOf(message)}>\n${text}\n</${nameOf(message)}>`
}

function textOfPart(part: MessagePart): string {
  switch (part.type) {
    case 'text':
      return cut(part.text, textCharsMax)
    case 'tool':
      return `[${part.tool}, ${part.status}] ${cut(part.input, toolCharsMax)}\n${cut(part.output, toolCharsMax)}`
    case 'file':
      return `[file] ${attachmentPath(part)}`
    case 'reasoning':
      return ''
  }
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}\n… cut here` : text
}
