import type { SessionEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { acceptedPrompts, getSession, messagesOf, presentSession, type SessionWithSandbox } from './store.ts'

const heartbeatMs = 15_000
/** A reader this far behind is cut off and reads again from the start; memory is not its buffer. */
const queueBytesMax = 4 * 1024 * 1024

type EventDeps = Pick<Deps, 'db' | 'feed' | 'keeper' | 'config' | 'log'>

/** Server-sent events of a session: first what is, then what changes. */
export function streamSessionEvents(deps: EventDeps, session: SessionWithSandbox, signal: AbortSignal): Response {
  const encoder = new TextEncoder()
  let close = () => {}
  const stream = new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        const send = (text: string) => {
          if ((controller.desiredSize ?? 0) < -queueBytesMax) close()
          else controller.enqueue(encoder.encode(text))
        }
        // What happens while the past is read waits its turn, or it would come before it.
        const early: SessionEvent[] = []
        let isLive = false
        const unsubscribe = deps.feed.subscribe(session.session_id, (event) => {
          if (isLive) send(frame(event))
          else early.push(event)
        })
        const heartbeat = setInterval(() => send(': still here\n\n'), heartbeatMs)
        close = () => {
          close = () => {}
          clearInterval(heartbeat)
          unsubscribe()
          try {
            controller.close()
          } catch {
            // Closed already by the reader going away.
          }
        }
        signal.addEventListener('abort', () => close(), { once: true })
        try {
          for (const event of await pastOf(deps, session)) send(frame(event))
        } catch (error) {
          deps.log.warn({ err: error, session_id: session.session_id }, 'an event stream could not read what is there')
          close()
          return
        }
        isLive = true
        for (const event of early) send(frame(event))
      },
      cancel: () => close(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  )
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
}

async function pastOf(deps: EventDeps, session: SessionWithSandbox): Promise<SessionEvent[]> {
  const current = (await getSession(deps.db, session.project_id, session.session_id)) ?? session
  const waiting = (await acceptedPrompts(deps.db, session.session_id)).length > 0
  const begins =
    current.status === 'provisioning' && current.initial_prompt !== null && current.initial_prompt_delivered_at === null
  const busy = waiting || begins || deps.keeper.turnOf(session.session_id) === 'busy'
  return [
    { type: 'session', session: presentSession(deps.config, current) },
    ...(await messagesOf(deps.db, session.session_id)).map((message) => ({ type: 'message' as const, message })),
    { type: 'turn', status: busy ? 'busy' : 'idle', error: null },
  ]
}

function frame(event: SessionEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
