/** Sends pending deliveries: one server per webhook, one event after another, each until it is accepted or given up. */
import { type ProjectEvent, webhookPatienceHours, webhookTimeoutMs, wantsEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { eventNumbered, eventsAfter } from '../events/store.ts'
import '../failpoint.ts'
import { getProject } from '../projects/store.ts'
import { secretOf } from './change.ts'
import { type Sent, attemptDelivery } from './send.ts'
import {
  beginDelivery,
  type DeliveryRow,
  endLease,
  isDue,
  renewLease,
  type Lease,
  nextAttemptInMs,
  nextByHand,
  passEvents,
  recordAttempt,
  recordFailure,
  takeWebhook,
  type WebhookRow,
} from './store.ts'

type SenderDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'newId' | 'instanceId' | 'log'>

/** Each hanging receiver occupies one of these, ten seconds at most. */
const atOnce = 8
/** Longer than any try takes, so a live server's lease does not end during one. */
const leaseSeconds = 60
/** A server without a heartbeat for this long is dead, unless its lock already shows it. */
const staleSeconds = 20
const pageSize = 100
/** Then other webhooks get their turn. */
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

  /**
   * The job. Starts what is due, of these projects or of all, and does not wait for it. Returns in how many milliseconds a
   * retry is due. While a webhook is served it is `again`: an event that comes as its sender ends waits for the next lease.
   */
  async tend(signal: AbortSignal, changed: ReadonlySet<string> | 'all' = 'all'): Promise<number | 'again' | null> {
    await this.#startDue(signal, changed)
    return this.#running.size > 0 ? 'again' : nextAttemptInMs(this.#deps.db)
  }

  async #startDue(signal: AbortSignal, changed: ReadonlySet<string> | 'all'): Promise<void> {
    while (!signal.aborted && this.#running.size < atOnce) {
      const { instanceId } = this.#deps
      const webhook = await takeWebhook(this.#deps.db, { instanceId, seconds: leaseSeconds, staleSeconds, changed })
      if (webhook === null) return
      await failpoint('webhook.after_lease')
      const work: Promise<void> = this.#serve(webhook, signal)
        .catch((error: unknown) =>
          this.#deps.log.warn({ err: error, webhook_id: webhook.webhook_id }, 'failed to send a webhook; retrying'),
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
        const webhook = await renewLease(db, lease)
        if (webhook === null) return
        const asked = await nextByHand(db, webhook_id)
        if (asked !== null) await this.#sendByHand(webhook, asked, signal)
        else if (!(await isDue(db, webhook_id)) || !(await this.#sendNext(lease, webhook, signal))) return
      }
    } finally {
      await endLease(db, lease)
    }
  }

  /** Returns whether there may be more to send. */
  async #sendNext(lease: Lease, webhook: WebhookRow, signal: AbortSignal): Promise<boolean> {
    const { db } = this.#deps
    const events = await eventsAfter(db, webhook.project_id, webhook.cursor, pageSize)
    const [first] = events
    if (first === undefined) return false
    // The next event is deleted already: the receiver is notified that it has to read the current state.
    if (first.id !== webhook.cursor + 1) return this.#sendOne(lease, webhook, resetBefore(first), signal)
    const wanted = events.find(({ type }) => wantsEvent(webhook.events, type))
    const before = (wanted?.id ?? (events.at(-1) ?? first).id + 1) - 1
    if (before > webhook.cursor) await passEvents(db, lease, before)
    return wanted === undefined ? events.length === pageSize : this.#sendOne(lease, webhook, wanted, signal)
  }

  async #sendOne(lease: Lease, webhook: WebhookRow, event: Payload, signal: AbortSignal): Promise<boolean> {
    const { db, log } = this.#deps
    const { webhook_id } = webhook
    const delivery = await beginDelivery(db, {
      ...{ delivery_id: this.#deps.newId(), webhook_id, event_number: event.id, event_type: event.type },
    })
    await failpoint('webhook.before_send')
    const { kind, ...attempt } = await this.#send(webhook, delivery, event, signal)
    await failpoint('webhook.after_send')
    // Cut off because this server stops: the next one sends it again.
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
        gaveUp: kind === 'gone' ? 'The receiver answered 410: it accepts no more deliveries.' : null,
      })
      await recordAttempt(trx, delivery.delivery_id, attempt, isPaused ? 'failed' : 'waiting')
      if (isPaused) log.info({ webhook_id, error: attempt.error }, 'paused a webhook: its receiver accepts nothing')
      return false
    })
    await failpoint('webhook.after_row')
    return isTaken
  }

  /** Tried once, whatever the outcome; waiting events keep their place. */
  async #sendByHand(webhook: WebhookRow, delivery: DeliveryRow, signal: AbortSignal): Promise<void> {
    const { db } = this.#deps
    const event = await this.#eventOf(webhook, delivery)
    const { kind, ...attempt } = event === null ? notKept : await this.#send(webhook, delivery, event, signal)
    if (kind !== 'taken' && signal.aborted) return
    const status = kind === 'taken' ? 'delivered' : 'failed'
    await db.transaction().execute((trx) => recordAttempt(trx, delivery.delivery_id, attempt, status))
  }

  async #eventOf({ project_id, webhook_id }: WebhookRow, delivery: DeliveryRow): Promise<Payload | Ping | null> {
    const { event_number, event_type, created_at } = delivery
    if (event_number === null) return { type: 'ping', project_id, webhook_id, created_at }
    if (event_type === 'reset') return { type: 'reset', id: event_number, project_id }
    return eventNumbered(this.#deps.db, project_id, event_number)
  }

  async #send(webhook: WebhookRow, delivery: DeliveryRow, event: Payload | Ping, signal: AbortSignal): Promise<Sent> {
    const project = await getProject(this.#deps.db, webhook.project_id)
    if (project === null) return { ...notKept, error: 'The project was deleted.' }
    const secret = secretOf(this.#deps, project, webhook)
    return attemptDelivery(
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

/** A webhook gets an event, or the notice that some were deleted. */
type Payload = ProjectEvent | { type: 'reset'; id: number; project_id: string }

function resetBefore(event: ProjectEvent): Payload {
  return { type: 'reset', id: event.id - 1, project_id: event.project_id }
}

const notKept: Sent = {
  ...{ kind: 'refused', http_status: null, answer: null, ms: null },
  error: 'The event has been deleted.',
}
