/** Sends what webhooks are owed: one server a webhook, one event after the other, each until it was taken or given up. */
import { type ProjectEvent, webhookPatienceHours, webhookTimeoutMs, wantsEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { eventNumbered, eventsAfter } from '../events/store.ts'
import '../failpoint.ts'
import { getProject } from '../projects/store.ts'
import { type Sent, sendLetter } from './send.ts'
import {
  beginDelivery,
  type DeliveryRow,
  endLease,
  isDue,
  keepLease,
  type Lease,
  nextByHand,
  passEvents,
  recordAttempt,
  recordFailure,
  takeWebhook,
  type WebhookRow,
} from './store.ts'

type SenderDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'newId' | 'instanceId' | 'log'>

/** Receivers that hang hold one of these each, ten seconds at most. */
const atOnce = 8
/** Longer than any try takes, so that a lease ends under nobody who lives. */
const leaseSeconds = 60
/** A server that was not heard of for so long is dead, where its lock does not say so at once. */
const staleSeconds = 20
const pageSize = 100
/** Then others have their turn. */
const turnMs = 20_000
const pausesSeconds = [5, 15, 60, 120, 300, 600, 1800, 3600]

export class WebhookSender {
  readonly #deps: SenderDeps
  readonly #timeoutMs: number
  readonly #running = new Set<Promise<void>>()

  constructor(deps: SenderDeps, timeoutMs = webhookTimeoutMs) {
    this.#deps = deps
    this.#timeoutMs = timeoutMs
  }

  /** The job: begins what is due and waits for none of it. */
  async tend(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#running.size < atOnce) {
      const { instanceId } = this.#deps
      const webhook = await takeWebhook(this.#deps.db, { instanceId, seconds: leaseSeconds, staleSeconds })
      if (webhook === null) return
      await failpoint('webhook.after_lease')
      const work: Promise<void> = this.#serve(webhook, signal)
        .catch((error: unknown) =>
          this.#deps.log.warn({ err: error, webhook_id: webhook.webhook_id }, 'a webhook was not served; it is again'),
        )
        .then(() => void this.#running.delete(work))
      this.#running.add(work)
    }
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running)
  }

  async #serve({ webhook_id }: WebhookRow, signal: AbortSignal): Promise<void> {
    const { db, instanceId } = this.#deps
    const lease = { webhookId: webhook_id, instanceId, seconds: leaseSeconds }
    const until = performance.now() + turnMs
    try {
      while (!signal.aborted && performance.now() < until) {
        const webhook = await keepLease(db, lease)
        if (webhook === null) return
        const asked = await nextByHand(db, webhook_id)
        if (asked !== null) await this.#sendByHand(webhook, asked, signal)
        else if (!(await isDue(db, webhook_id)) || !(await this.#sendNext(lease, webhook, signal))) return
      }
    } finally {
      await endLease(db, lease)
    }
  }

  /** Whether there may be more to send. */
  async #sendNext(lease: Lease, webhook: WebhookRow, signal: AbortSignal): Promise<boolean> {
    const { db } = this.#deps
    const events = await eventsAfter(db, webhook.project_id, webhook.cursor, pageSize)
    const [first] = events
    if (first === undefined) return false
    // What was to come next is not kept any more: the receiver is told to read again what there is.
    if (first.id !== webhook.cursor + 1) return this.#sendOne(lease, webhook, resetBefore(first), signal)
    const wanted = events.find(({ type }) => wantsEvent(webhook.events, type))
    const before = (wanted?.id ?? (events.at(-1) ?? first).id + 1) - 1
    if (before > webhook.cursor) await passEvents(db, lease, before)
    return wanted === undefined ? events.length === pageSize : this.#sendOne(lease, webhook, wanted, signal)
  }

  async #sendOne(lease: Lease, webhook: WebhookRow, event: Told, signal: AbortSignal): Promise<boolean> {
    const { db, log } = this.#deps
    const { webhook_id } = webhook
    const delivery = await beginDelivery(db, {
      ...{ delivery_id: this.#deps.newId(), webhook_id, event_number: event.id, event_type: event.type },
    })
    await failpoint('webhook.before_send')
    const { kind, ...attempt } = await this.#send(webhook, delivery, event, signal)
    await failpoint('webhook.after_send')
    // Cut off because this server ends: the next one sends it again.
    if (kind !== 'taken' && signal.aborted) return false
    const isTaken = await db.transaction().execute(async (trx) => {
      if (kind === 'taken') {
        await passEvents(trx, lease, event.id)
        await recordAttempt(trx, delivery.delivery_id, attempt, 'delivered')
        return true
      }
      const { isPaused } = await recordFailure(trx, lease, {
        pauseSeconds: pausesSeconds[Math.min(webhook.attempts, pausesSeconds.length - 1)]!,
        error: attempt.error ?? '',
        patienceHours: webhookPatienceHours,
        gaveUp: kind === 'gone' ? 'It answered 410: it wants no more of this.' : null,
      })
      await recordAttempt(trx, delivery.delivery_id, attempt, isPaused ? 'failed' : 'waiting')
      if (isPaused) log.info({ webhook_id, error: attempt.error }, 'a webhook is paused: its receiver takes nothing')
      return false
    })
    await failpoint('webhook.after_row')
    return isTaken
  }

  /** Tried once, whatever comes of it, and the events that wait their turn stay where they are. */
  async #sendByHand(webhook: WebhookRow, delivery: DeliveryRow, signal: AbortSignal): Promise<void> {
    const { db } = this.#deps
    const event = await this.#eventOf(webhook, delivery)
    const { kind, ...attempt } = event === null ? notKept : await this.#send(webhook, delivery, event, signal)
    if (kind !== 'taken' && signal.aborted) return
    const status = kind === 'taken' ? 'delivered' : 'failed'
    await db.transaction().execute((trx) => recordAttempt(trx, delivery.delivery_id, attempt, status))
  }

  async #eventOf({ project_id, webhook_id }: WebhookRow, delivery: DeliveryRow): Promise<Told | Ping | null> {
    const { event_number, event_type, created_at } = delivery
    if (event_number === null) return { type: 'ping', project_id, webhook_id, created_at }
    if (event_type === 'reset') return { type: 'reset', id: event_number, project_id }
    return eventNumbered(this.#deps.db, project_id, event_number)
  }

  async #send(webhook: WebhookRow, delivery: DeliveryRow, event: Told | Ping, signal: AbortSignal): Promise<Sent> {
    const project = await getProject(this.#deps.db, webhook.project_id)
    if (project === null) return { ...notKept, error: 'The project is gone.' }
    const secret = this.#deps.keyring.open({
      projectId: project.project_id,
      dataKey: project.data_key,
      aad: ['webhook', webhook.webhook_id],
      sealed: webhook.secret,
    })
    return sendLetter(
      {
        url: webhook.url,
        secret,
        deliveryId: delivery.delivery_id,
        eventType: event.type,
        body: JSON.stringify(event),
      },
      {
        allowPrivate: this.#deps.config.allowPrivateGitHosts,
        timeoutMs: this.#timeoutMs,
        signal,
        now: this.#deps.now(),
      },
    )
  }
}

interface Ping {
  type: 'ping'
  project_id: string
  webhook_id: string
  created_at: string
}

/** What a webhook is sent in its turn: an event, or that some are gone. */
type Told = ProjectEvent | { type: 'reset'; id: number; project_id: string }

function resetBefore(event: ProjectEvent): Told {
  return { type: 'reset', id: event.id - 1, project_id: event.project_id }
}

const notKept: Sent = {
  ...{ kind: 'refused', http_status: null, answer: null, ms: null },
  error: 'The event is not kept any more.',
}
