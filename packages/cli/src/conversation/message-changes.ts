import type { Message, MessagePart } from '@svc/sdk'
/** Finds the new part of a message that is sent repeatedly as it grows. */

export type ToolPart = Extract<MessagePart, { type: 'tool' }>

export interface MessageListener {
  /** More text of an answer. */
  text?(more: string): void
  /** A part of an answer ended; the next text starts another. */
  textEnd?(): void
  /** A tool call that runs, once its input is complete. */
  toolRunning?(part: ToolPart): void
  /** A finished tool call. */
  tool?(part: ToolPart): void
}

export class MessageChanges {
  readonly #listener: MessageListener
  readonly #printed = new Map<string, string>()
  readonly #toldTools = new Set<string>()
  readonly #runningTools = new Set<string>()
  #openText: string | null = null

  constructor(listener: MessageListener) {
    this.#listener = listener
  }

  take(message: Message): void {
    for (const part of message.parts) {
      const id = `${message.message_id}/${part.id}`
      if (part.type === 'text') this.#text(id, part.text)
      else if (part.type === 'tool') this.#tool(id, part)
    }
  }

  endText(): void {
    if (this.#openText !== null) this.#listener.textEnd?.()
    this.#openText = null
  }

  #text(id: string, text: string): void {
    const before = this.#printed.get(id) ?? ''
    // A server that restarted stored the message before its last words were shown here.
    if (before.startsWith(text)) return
    if (this.#openText !== null && this.#openText !== id) this.endText()
    // An answer normally only grows. Print a rewritten one again from its start.
    if (!text.startsWith(before)) this.endText()
    this.#listener.text?.(text.startsWith(before) ? text.slice(before.length) : text)
    this.#printed.set(id, text)
    this.#openText = id
  }

  #tool(id: string, part: ToolPart): void {
    if (part.status === 'pending' || this.#toldTools.has(id)) return
    if (part.status === 'running') {
      if (this.#runningTools.has(id)) return
      this.#runningTools.add(id)
      this.endText()
      return this.#listener.toolRunning?.(part)
    }
    this.#toldTools.add(id)
    this.endText()
    this.#listener.tool?.(part)
  }
}
