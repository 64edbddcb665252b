import type { SessionEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { type EventChannel, eventStream } from '../http/event-channel.ts'
import { messagesChangedSince, readTranscript } from './transcript.ts'
import { isAtWork } from './at-work.ts'
import { ElsewhereWatch } from './watch-elsewhere.ts'
import { QuestionsWatch } from './questions/watch.ts'
import { getSession, presentSession, type SessionWithSandbox } from './store.ts'

/** What may happen while the past is read; then it is read again. */
const earlyMax = 1_000

type EventDeps = Pick<Deps, 'db' | 'feed' | 'events' | 'keeper' | 'config' | 'now' | 'log'>

/** Server-sent events of a session: first what is, as fast as it is read; then what changes. */
export function streamSessionEvents(
  deps: EventDeps,
  session: SessionWithSandbox,
  { signal, lastEventId, messages }: { signal: AbortSignal; lastEventId: string | null; messages?: number | undefined },
): Response {
  return eventStream(signal, (channel) => tell(deps, session, channel, { since: sinceOf(lastEventId), messages }))
}

/** How much of what was said before is told: what changed since, else so many of the newest messages, else all. */
interface Past {
  since: Date | null
  messages: number | undefined
}

async function tell(deps: EventDeps, session: SessionWithSandbox, channel: EventChannel, told: Past): Promise<void> {
  // What happens while the past is told waits its turn, or it would come before it.
  const early: SessionEvent[] = []
  let isLive = false
  const elsewhere = new ElsewhereWatch(deps, session, (event) => channel.sendNow(frame(event)))
  const questions = new QuestionsWatch(deps, session, (event) => {
    elsewhere.note(event)
    channel.sendNow(frame(event))
  })
  const unsubscribe = deps.feed.subscribe(session.session_id, (event) => {
    elsewhere.note(event)
    if (isLive) channel.sendNow(frame(event))
    else if (early.push(event) > earlyMax) channel.close()
  })
  channel.onClose(() => {
    unsubscribe()
    elsewhere.stop()
    questions.stop()
  })
  try {
    const open = await questions.open()
    const past = await pastOf(deps, session, told)
    // The turn comes last: it ends what is.
    for (const event of past.toSpliced(-1, 0, ...open)) {
      elsewhere.note(event)
      await channel.send(frame(event))
    }
    for (let event = early.shift(); event !== undefined; event = early.shift()) await channel.send(frame(event))
    isLive = true
    elsewhere.start()
    questions.start()
  } catch (error) {
    deps.log.warn({ err: error, session_id: session.session_id }, 'an event stream could not read what is there')
    channel.close()
  }
}

async function pastOf(
  deps: EventDeps,
  session: SessionWithSandbox,
  { since, messages: limit }: Past,
): Promise<SessionEvent[]> {
  const current = (await getSession(deps.db, session.project_id, session.session_id)) ?? session
  const messages =
    since === null
      ? (await readTranscript(deps.db, session.session_id, { limit })).messages
      : await messagesChangedSince(deps.db, session.session_id, since)
  return [
    { type: 'session', session: presentSession(deps.config, current) },
    ...messages.map((message) => ({ type: 'message' as const, message })),
    { type: 'turn', status: (await isAtWork(deps, current)) ? 'busy' : 'idle', error: null },
  ]
}

/** The id is the time: messages are told whole, so whoever comes back needs those that changed since, and twice does no harm. */
function frame(event: SessionEvent): string {
  return `id: ${Date.now()}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** A message is told a moment before it is kept, and clocks of two servers differ. */
const toleranceMs = 30_000

/** Null: from the beginning, also for an id that is none of ours. */
function sinceOf(lastEventId: string | null): Date | null {
  const at = /^\d{13}$/.test(lastEventId ?? '') ? Number(lastEventId) : Number.NaN
  return at <= Date.now() ? new Date(at - toleranceMs) : null
}
