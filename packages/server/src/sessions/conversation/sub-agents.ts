/** The tool calls of sub-agents. The runtime runs each in a child conversation, which the call that started it names. */
import { parseJson } from '@svc/contract'
import { boundedText } from '../../sandboxes/daemon-client.ts'
import type { Conversation, RuntimePart } from './assemble.ts'

const subAgentsMax = 200
/** Later calls of one sub-agent are not kept. */
const stepsMax = 100
const readMax = 20
const readBytesMax = 16 * 1024 * 1024

interface SubAgent {
  messageId: string
  steps: Map<string, RuntimePart>
}

export class SubAgents {
  readonly #known = new Map<string, SubAgent>()

  /** Remembers the child conversation that a tool call names. */
  note({ messageID, state }: RuntimePart): void {
    const id = state?.metadata?.sessionId
    if (id === undefined || this.#known.has(id) || this.#known.size >= subAgentsMax) return
    this.#known.set(id, { messageId: messageID, steps: new Map() })
  }

  /** Keeps a tool call of a child conversation. Returns the message that shows it, or null. */
  take(sessionId: string, part: RuntimePart): string | null {
    const found = this.#known.get(sessionId)
    if (found === undefined || (!found.steps.has(part.id) && found.steps.size >= stepsMax)) return null
    found.steps.set(part.id, part)
    return found.messageId
  }

  stepsOf({ state }: RuntimePart): RuntimePart[] | null {
    const found = this.#known.get(state?.metadata?.sessionId ?? '')
    return found === undefined ? null : [...found.steps.values()]
  }

  messageOf(sessionId: string): string | null {
    return this.#known.get(sessionId)?.messageId ?? null
  }

  get unread(): string[] {
    return [...this.#known].flatMap(([id, { steps }]) => (steps.size === 0 ? [id] : []))
  }
}

/** Reads the newest sub-agents that another server followed. Returns the messages that show them. */
export async function readSubAgents(
  conversation: Conversation,
  request: (path: string) => Promise<Response>,
): Promise<string[]> {
  const messageIds: string[] = []
  for (const id of conversation.unreadSubAgents.slice(-readMax)) {
    const response = await request(`/session/${encodeURIComponent(id)}/message`)
    const text = await boundedText(response, readBytesMax)
    const messageId = response.ok ? conversation.loadSubAgent(id, parseJson(text)) : null
    if (messageId !== null) messageIds.push(messageId)
  }
  return messageIds
}
