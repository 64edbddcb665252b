/** The messages, prompts and questions of a session in order of time, each with its author. */
import type { Message, Prompt, Question, Session } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import { filesOf } from '../../../conversation/attachments.ts'
import { allPages } from '../../../pages.ts'
import { allMembers } from '../../members/account.ts'
import type { Client, SessionClient } from '../../../requests.ts'

export type Entry =
  | { kind: 'prompt'; at: string; by: string; text: string; files: string[]; error: string | null }
  /** `isOver`: none of its calls runs any more. */
  | { kind: 'answer'; at: string; message: Message; isOver: boolean }
  /** The last turn failed, and no message says so. */
  | { kind: 'failure'; at: string; reason: string }
  | { kind: 'question'; at: string; question: Question; by: string | null }
  | { kind: 'waiting'; at: string; by: string; text: string; files: string[] }

export interface Transcript {
  session: Session
  messages: Message[]
  questions: Question[]
  prompts: Prompt[]
  entries: Entry[]
  isCut: boolean
}

/** The last `limit` messages; all without a limit. */
export async function readTranscript(at: SessionClient, limit: number | undefined): Promise<Transcript> {
  const session = await at.get('', { query: { include: 'activity' } })
  const [{ data, cursor }, questions, prompts, names] = await Promise.all([
    at.page('/transcript', { query: { limit } }),
    allPages(async (query) => {
      const found = await at.page('/questions', { query })
      return { data: found.data.questions, cursor: found.cursor }
    }),
    allPages(async (query) => {
      const found = await at.page('/prompts', { query })
      return { data: found.data.prompts, cursor: found.cursor }
    }),
    memberNames(at.project.api, session.account_id),
  ])
  const { messages } = data
  const isCut = cursor !== null
  const since = isCut ? (messages[0]?.created_at ?? '') : ''
  const shown = {
    questions: questions.toReversed().filter((question) => question.asked_at >= since),
    prompts: prompts.toReversed().filter((prompt) => prompt.created_at >= since || prompt.status === 'accepted'),
  }
  const entries = entriesOf(session, { messages, questions: shown.questions, prompts }, names)
  return { session, messages, ...shown, entries, isCut }
}

function entriesOf(
  session: Session,
  { messages, questions, prompts }: Pick<Transcript, 'messages' | 'questions' | 'prompts'>,
  names: ReadonlyMap<string, string>,
): Entry[] {
  const nameOf = (userId: string | null) => (userId === null ? null : (names.get(userId) ?? null))
  const byPrompt = (prompt: Prompt | undefined) => {
    if (prompt === undefined) return 'Prompt'
    if (prompt.prompt_id === session.session_id) return starterOf(session, nameOf(prompt.created_by))
    return nameOf(prompt.created_by) ?? 'Prompt'
  }
  const promptOf = promptsByMessage(messages, prompts)
  const isIdle = session.status !== 'running' || session.is_busy === false
  const lastAnswer = messages.findLast(({ role }) => role === 'assistant')
  const said = messages.map((message): Entry => {
    const { message_id: id, created_at: at, error } = message
    if (message.role === 'assistant') return { kind: 'answer', at, message, isOver: isIdle || message !== lastAnswer }
    return { kind: 'prompt', at, by: byPrompt(promptOf.get(id)), text: textOf(message), files: filesOf(message), error }
  })
  const asked = questions.map((question): Entry => {
    return { kind: 'question', at: question.asked_at, question, by: nameOf(question.answered_by) }
  })
  const waiting = prompts
    .filter(({ status }) => status === 'accepted')
    .map((prompt): Entry => ({
      ...{ kind: 'waiting', at: prompt.created_at, by: byPrompt(prompt), text: prompt.text },
      files: prompt.attachments.map(({ name }) => name),
    }))
  // The sort is stable: at equal times the original order stays, and a question follows its answer's part.
  const inOrder = [...said, ...asked, ...failureOf(session, messages)].toSorted(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  )
  return [...inOrder, ...waiting.toReversed()]
}

/** A turn that its sandbox cut has no message with the reason. */
function failureOf({ last_turn_error: failure }: Session, messages: readonly Message[]): Entry[] {
  if (failure === null || messages.some(({ error }) => error === failure.message)) return []
  return [{ kind: 'failure', at: failure.at, reason: failure.message }]
}

/** The initiator of the session: a trigger, the agent of another session, or a user. */
function starterOf({ metadata, parent_session_id: parent }: Session, name: string | null): string {
  const slug = (metadata.trigger as { slug?: unknown } | undefined)?.slug
  if (typeof slug === 'string') return `Trigger ${slug}`
  return parent === null ? (name ?? 'Prompt') : `Session ${parent.slice(0, 8)}`
}

export function textOf(message: Message): string {
  return message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/**
 * A message of a sandbox that an earlier version started does not name its prompt, so this matches the text, newest first
 * because the oldest may be left out. `prompts` are newest first.
 */
function promptsByMessage(messages: readonly Message[], prompts: readonly Prompt[]): Map<string, Prompt> {
  const byId = new Map(prompts.map((prompt) => [prompt.prompt_id, prompt]))
  const named = new Set(messages.map(({ prompt_id: id }) => id))
  const delivered = prompts.filter(({ status, prompt_id: id }) => status === 'delivered' && !named.has(id))
  const found = new Map<string, Prompt>()
  for (const message of messages.toReversed()) {
    if (message.role !== 'user') continue
    const own = byId.get(message.prompt_id ?? message.message_id)
    const text = textOf(message).trim()
    const at =
      own === undefined && message.prompt_id === undefined
        ? delivered.findIndex((prompt) => prompt.text.trim() === text)
        : -1
    const prompt = own ?? delivered[at]
    if (prompt !== undefined) found.set(message.message_id, prompt)
    if (at !== -1) delivered.splice(at, 1)
  }
  return found
}

/** A sandbox token cannot read members; the conversation is readable without their names. */
async function memberNames(api: Client, accountId: string): Promise<Map<string, string>> {
  try {
    return new Map((await allMembers(api, accountId)).map(({ user_id, name }) => [user_id, name]))
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'forbidden' || error.code === 'not_found')) return new Map()
    throw error
  }
}
