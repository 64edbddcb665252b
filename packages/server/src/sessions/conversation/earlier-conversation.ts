/**
 * The conversation of a session's earlier sandboxes, for the agent in a new one. The runtime keeps its conversations
 * in the sandbox and loses them with it; the transcript stays (docs/decisions/0047-the-agent-keeps-its-conversation.md).
 */
import { attachmentPath, attachmentsBytesMax, type Attachment, type Message, type MessagePart } from '@svc/contract'
import type { Db } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { attachmentsOfSession } from '../attachments/store.ts'
import { getSessionById } from '../store.ts'
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
  attachments: EarlierAttachment[]
}

/** `session_id`: the session that has the file, when it is an earlier one. */
export type EarlierAttachment = Attachment & { session_id?: string }

/** Part of a conversation that the agent does not know. */
interface Stretch {
  sessionId: string
  /** Messages of earlier starts, or those of an earlier session up to one. */
  only: { beforeGeneration: number } | { until: string }
}

/** Longer chains are cut. */
const sessionsMax = 20

/** Null when there is none, or when the runtime of this generation answered already and so knows it. */
export async function readEarlierConversation(
  deps: Pick<Deps, 'db'>,
  { sessionId, generation }: { sessionId: string; generation: number },
): Promise<EarlierConversation | null> {
  if (await hasAnswer(deps.db, sessionId, generation)) return null
  const texts: string[] = []
  const attachments: EarlierAttachment[] = []
  let [charsLeft, bytesLeft] = [charsMax, attachmentsBytesMax]
  const stretches = await stretchesOf(deps.db, { sessionId, generation })
  for (const stretch of stretches) {
    const stored = await attachmentsOfSession(deps.db, stretch.sessionId)
    const isStored = new Set(stored.map((each) => each.attachment_id))
    const from = stretch.sessionId === sessionId ? {} : { session_id: stretch.sessionId }
    for await (const message of newestFirst(deps.db, stretch)) {
      const text = textOf(message)
      const isCut = text.length > charsLeft
      texts.unshift(isCut ? `<${nameOf(message)}>\n… cut here\n${text.slice(-charsLeft).toWellFormed()}` : text)
      charsLeft -= text.length
      for (const part of message.parts)
        if (part.type === 'file' && isStored.has(part.attachment_id) && (bytesLeft -= part.bytes) >= 0)
          attachments.push({ ...part, ...from })
      if (charsLeft <= 0) break
    }
    if (charsLeft <= 0) break
  }
  const continued = stretches[1]?.sessionId ?? null
  if (texts.length === 0 && continued === null) return null
  const work = await wipOf(deps.db, sessionId)
  const hasWork = work.some((row) => row.recovered_at === null && row.recovered_into !== generation)
  // It counts as recovered once the sandbox has saved it, which may be before the first prompt.
  const hasApplied = work.some((row) => row.generation === 0 && row.recovered_into === generation)
  const returned = work.find((row) => row.returns && row.recovered_into === generation)?.saved_at ?? null
  return { note: noteOf(texts, { isCut: charsLeft <= 0, hasWork, hasApplied, returned, continued }), attachments }
}

/** The own conversation first, then that of the session it continues, and of the one which that continues. */
async function stretchesOf(
  db: Db,
  { sessionId, generation }: { sessionId: string; generation: number },
): Promise<Stretch[]> {
  const stretches: Stretch[] = [{ sessionId, only: { beforeGeneration: generation } }]
  let session = await getSessionById(db, sessionId)
  while (session !== null && session.continues_session_id !== null && stretches.length < sessionsMax) {
    const { continues_session_id: id, continues_message_id: until } = session
    // Without a message there was no conversation yet. Its empty stretch says which session is continued.
    stretches.push({ sessionId: id, only: { until: until ?? '' } })
    session = await getSessionById(db, id)
  }
  return stretches
}

async function* newestFirst(db: Db, { sessionId, only }: Stretch): AsyncGenerator<Message> {
  let cursor: string | undefined
  do {
    const page = await readTranscript(db, sessionId, { limit: pageSize, cursor, ...only })
    yield* page.messages.reverse()
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

interface NoteFacts {
  isCut: boolean
  /** Saved work is not in the work tree. */
  hasWork: boolean
  /** The work of the continued session is in the work tree. */
  hasApplied: boolean
  /** When the work of an earlier start was saved that is back in the work tree. */
  returned: string | null
  /** The session that this one continues. */
  continued: string | null
}

function noteOf(messages: string[], { isCut, hasWork, hasApplied, returned, continued }: NoteFacts): string {
  const begins =
    continued === null
      ? 'This session continues in a new sandbox. Its repository was cloned again: commits that were pushed are there, other changes are not.'
      : `This session continues from session ${continued}, in a sandbox, on a branch and with a conversation of its own. Its branch begins at the commits that were pushed there by then.`
  return [
    begins,
    ...(hasApplied
      ? ['The changes that were not pushed there are in the work tree, uncommitted, as they were after that message.']
      : []),
    ...(returned === null
      ? []
      : [`What was not pushed is back in the work tree, as it was saved at ${returned}. Later changes are not in it.`]),
    ...(hasWork
      ? ['Changes that were not pushed are saved; `svc sessions recover` brings them into the work tree.']
      : []),
    ...(messages.length === 0
      ? []
      : [
          `The conversation so far follows, with secrets redacted and long output cut.${isCut ? ' Its oldest part is left out.' : ''}`,
          '<conversation>',
          ...messages,
          '</conversation>',
        ]),
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
