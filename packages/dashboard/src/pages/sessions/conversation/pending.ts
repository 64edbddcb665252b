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
  const early = listedEarly(waiting, of.outgoing)
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

/** The list may have a prompt before the request that sent it has its answer. Only the text is known by then. */
function listedEarly(waiting: readonly Prompt[], outgoing: readonly Outgoing[]): Set<string> {
  const answered = new Set(outgoing.map(({ promptId }) => promptId))
  const unclaimed = waiting.filter(({ prompt_id: id }) => !answered.has(id)).map(({ text }) => text)
  const early = new Set<string>()
  for (const { id, promptId, text } of outgoing) {
    const at = promptId === null ? unclaimed.indexOf(text) : -1
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
