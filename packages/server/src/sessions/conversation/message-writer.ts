import type { Message } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import type { DaemonAddress } from '../../sandboxes/daemon-client.ts'
import { updateSession } from '../store.ts'
import { upsertMessage } from './message-store.ts'
import { TranscriptQuota } from './transcript-quota.ts'

const activityMs = 10_000

/** Stores the messages of one session within its quota, and that the session was active. */
export class MessageWriter {
  readonly #deps: Pick<Deps, 'db' | 'config' | 'now'>
  readonly #of: Pick<DaemonAddress, 'sessionId' | 'generation'>
  #quota: TranscriptQuota | null = null
  #activeAt = 0

  constructor(deps: Pick<Deps, 'db' | 'config' | 'now'>, of: Pick<DaemonAddress, 'sessionId' | 'generation'>) {
    this.#deps = deps
    this.#of = of
  }

  async write(message: Message): Promise<void> {
    const { db, config } = this.#deps
    const { sessionId, generation } = this.#of
    this.#quota ??= await TranscriptQuota.open(db, config, sessionId)
    const fitting = this.#quota.fit(message)
    if (fitting !== null) await upsertMessage(db, sessionId, generation, fitting)
  }

  async recordActivity(): Promise<void> {
    const now = this.#deps.now()
    if (now.getTime() - this.#activeAt < activityMs) return
    this.#activeAt = now.getTime()
    await updateSession(this.#deps.db, this.#of.sessionId, { last_active_at: now.toISOString() })
  }
}
