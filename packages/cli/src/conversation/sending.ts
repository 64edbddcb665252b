import { promptFailed } from './prompt-errors.ts'
import type { NewAttachment } from './attachments.ts'
import type { SessionClient } from '../requests.ts'

export interface NewPrompt {
  text: string
  attachments?: NewAttachment[]
  /** From this prompt on. */
  agent?: string
  /** From this prompt on; null is the default model. */
  model?: string | null
}

export interface Sent {
  prompt_id: string
  status: 'accepted' | 'delivered' | 'failed'
}

/** A prompt under one idempotency key, so that the agent gets it once however often it is sent. */
export class Sending {
  #state: 'unsent' | 'underway' | 'sent' = 'unsent'
  #failed: (error: unknown) => void = () => {}
  readonly #send: () => Promise<Sent>

  constructor(at: SessionClient, body: NewPrompt, key: string) {
    this.#send = async () => {
      const sent = await at.post('/prompt', { body, headers: { 'Idempotency-Key': key } })
      if (sent.status === 'failed') throw promptFailed(sent.error?.message ?? null)
      return sent
    }
  }

  get hint(): string {
    return this.#state === 'sent'
      ? 'The agent goes on without this client.'
      : 'The prompt may or may not have arrived. The session shows it if it did.'
  }

  /** Called for each connection: the newest one learns of a failure. */
  start(sent: (sent: Sent) => void, failed: (error: unknown) => void): void {
    this.#failed = failed
    if (this.#state !== 'unsent') return
    this.#state = 'underway'
    this.#send().then(
      (answer) => {
        this.#state = 'sent'
        sent(answer)
      },
      (error: unknown) => {
        this.#state = 'unsent'
        this.#failed(error)
      },
    )
  }
}
