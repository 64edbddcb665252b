import type { SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { type EventChannel, eventStream } from '../../http/event-channel.ts'
import { messagesStoredSince, readTranscript } from './message-store.ts'
import { isAtWork } from './at-work.ts'
import { watchElsewhere } from './watch-elsewhere.ts'
import { watchQuestions } from '../questions/watch.ts'
import { getSession, type SessionWithSandbox } from '../store.ts'
import { presentSession } from '../present.ts'

/** The limit of events that arrive while the history is read. Beyond it, the client reconnects. */
const earlyMax = 1_000

type EventDeps = Pick<Deps, 'db' | 'feed' | 'events' | 'sessions' | 'config' | 'now' | 'log'>

/** Server-sent events of a session: the current state first, then each change. */
export function streamSessionEvents(
  deps: EventDeps,
  session: SessionWithSandbox,
  { signal, lastEventId, messages }: { signal: AbortSignal; lastEventId: string | null; messages?: number | undefined },
): Response {
  return eventStream(signal, (channel) => sendEvents(deps, session, channel, { since: sinceOf(lastEventId), messages }))
}

/** Selects the messages to send first: those changed since a time, else a number of the newest, else all. */
interface History {
  since: Date | null
  messages: number | undefined
}

async function sendEvents(
  deps: EventDeps,
  session: SessionWithSandbox,
  channel: EventChannel,
  wanted: History,
): Promise<void> {
  // Events that arrive while the history is sent wait, to keep their order.
  const early: SessionEvent[] = []
  let isLive = false
  const elsewhere = watchElsewhere(deps, session, (event) => channel.sendNow(frame(event)))
  const questions = watchQuestions(deps, session, (event) => {
    elsewhere.note(event)
    channel.sendNow(frame(event))
  })
  const take = (event: SessionEvent) => {
    elsewhere.note(event)
    if (isLive) channel.sendNow(frame(event))
    else if (early.push(event) > earlyMax) channel.close()
  }
  const unsubscribe = deps.feed.subscribe(session.session_id, take, () => channel.close())
  channel.onClose(() => {
    unsubscribe()
    elsewhere.stop()
    questions.stop()
  })
  try {
    const open = await questions.open()
    // The feed publishes messages before they are stored. Without this, a new reader would miss those in between.
    await deps.sessions.followerOf(session.session_id)?.storeNow()
    const history = await historyOf(deps, session, wanted)
    // The turn comes last, because it marks the end of the current state.
    for (const event of history.toSpliced(-1, 0, ...open)) {
      elsewhere.note(event)
      await channel.send(frame(event))
    }
    for (let event = early.shift(); event !== undefined; event = early.shift()) await channel.send(frame(event))
    isLive = true
    elsewhere.start()
    questions.start()
  } catch (error) {
    deps.log.warn({ err: error, session_id: session.session_id }, 'reading the history for an event stream failed')
    channel.close()
  }
}

async function historyOf(
  deps: EventDeps,
  session: SessionWithSandbox,
  { since, messages: limit }: History,
): Promise<SessionEvent[]> {
  const current = (await getSession(deps.db, session.project_id, session.session_id)) ?? session
  const messages =
    since === null
      ? (await readTranscript(deps.db, session.session_id, { limit })).messages
      : (await messagesStoredSince(deps.db, session.session_id, since)).map(({ message }) => message)
  return [
    { type: 'session', session: presentSession(deps.config, current) },
    ...messages.map((message) => ({ type: 'message' as const, message })),
    { type: 'turn', status: (await isAtWork(deps, current)) ? 'busy' : 'idle', error: null },
  ]
}

/** The id is the time. Messages are sent whole, so a reconnecting reader needs those changed since, and repeats are harmless. */
function frame(event: SessionEvent): string {
  return `id: ${Date.now()}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** A message is published shortly before it is stored, and the clocks of two servers differ. */
const toleranceMs = 30_000

/** Null for a missing or unknown id: from the beginning. */
function sinceOf(lastEventId: string | null): Date | null {
  const at = /^\d{13}$/.test(lastEventId ?? '') ? Number(lastEventId) : Number.NaN
  return at <= Date.now() ? new Date(at - toleranceMs) : null
}
