/** Which prompts the agent does not have yet. Pure, so that any order of answers and events can be tested. */
import type { Message, Prompt } from '../queries.ts'
import type { Outgoing } from './use-draft.ts'

export interface Pending {
  /** In the order of delivery. */
  waiting: Prompt[]
  /** Sent from here: before the server lists them, and while the agent begins with them. */
  outgoing: { before: Outgoing[]; after: Outgoing[] }
  /** Sent from here, accepted, and in no list: the server knows what became of them. */
  unclear: string[]
}

export function pendingPrompts(of: {
  messages: readonly Message[]
  waiting: readonly Prompt[]
  outgoing: readonly Outgoing[]
  /** The server's answers about prompts that were unclear. */
  outcomes: readonly Prompt[]
}): Pending {
  const named = new Set(of.messages.map(({ prompt_id: id }) => id))
  // The list of waiting prompts may be a second older than the messages.
  const waiting = of.waiting.filter(({ prompt_id: id }) => !named.has(id))
  const listed = new Set(waiting.map(({ prompt_id: id }) => id))
  const early = knownEarly(waiting, of.messages, of.outgoing)
  const left = of.outgoing.filter(({ id: sent, promptId: id }) =>
    id === null ? !early.has(sent) : !named.has(id) && !listed.has(id),
  )
  const outcomeOf = new Map(of.outcomes.map(({ prompt_id: id, status }) => [id, status]))
  const isComing = ({ promptId: id }: Outgoing) => {
    const outcome = id === null ? undefined : outcomeOf.get(id)
    return outcome === undefined || outcome === 'accepted' || (outcome === 'delivered' && namesPrompts(of.messages))
  }
  const shown = left.filter(isComing)
  const begins = ({ promptId: id }: Outgoing) => id !== null && outcomeOf.get(id) === 'delivered'
  return {
    waiting,
    outgoing: { before: shown.filter(begins), after: shown.filter((each) => !begins(each)) },
    unclear: shown.flatMap(({ promptId: id }) => (id === null ? [] : [id])),
  }
}

/** The clocks of a browser and the server are seldom further apart. */
const apartMsMax = 5_000

/**
 * The list, or the conversation, may have a prompt before the request that sent it has its answer. Only the text is
 * known by then, so a message from before the prompt was sent is none of it.
 */
function knownEarly(
  waiting: readonly Prompt[],
  messages: readonly Message[],
  outgoing: readonly Outgoing[],
): Set<string> {
  if (outgoing.every(({ promptId }) => promptId !== null)) return new Set()
  const answered = new Set(outgoing.map(({ promptId }) => promptId))
  const unclaimed = [
    ...waiting.map(({ prompt_id: id, text }) => ({ id, text, since: Infinity })),
    ...messages.map(({ prompt_id: id, parts, created_at: at }) => ({
      id: id ?? null,
      text: parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))[0],
      since: Date.parse(at) + apartMsMax,
    })),
  ].filter(({ id }) => id !== null && !answered.has(id))
  const early = new Set<string>()
  for (const { id, promptId, text, sentAt } of outgoing) {
    const isIt = (each: (typeof unclaimed)[number]) => each.text === text && each.since > Date.parse(sentAt)
    const at = promptId === null ? unclaimed.findIndex(isIt) : -1
    if (at === -1) continue
    unclaimed.splice(at, 1)
    early.add(id)
  }
  return early
}

/** Messages of a sandbox that an earlier version started do not. Then a delivered prompt counts as shown. */
function namesPrompts(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ role, message_id: id, prompt_id }) => role === 'user' && id !== prompt_id)
  return last === undefined || last.prompt_id !== undefined
}
