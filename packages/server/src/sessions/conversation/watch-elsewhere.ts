/** Watches a session that another server runs, through the database, where that server stores changes within a second. */
import type { Message, Session, SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { isAtWork } from './at-work.ts'
import { getSession, type SessionWithSandbox } from '../store.ts'
import { presentSession } from '../present.ts'
import { messagesStoredSince } from './message-store.ts'

const liveMs = 500
const stoppedMs = 2_000

type WatchDeps = Pick<Deps, 'db' | 'sessions' | 'config' | 'log'>

export function watchElsewhere(deps: WatchDeps, session: SessionWithSandbox, send: (event: SessionEvent) => void) {
  const { session_id: sessionId, project_id: projectId } = session
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  /** The state that was sent to the reader last, from here or from the feed of this server. */
  const sent = { session: '', turn: '' }
  /** The messages stored at `at`, which the next read may return again. */
  let seen = { at: new Date(0), messages: new Map<string, string>() }

  /** Records events from other sources, so that no state is sent twice. */
  function note(event: SessionEvent): void {
    if (event.type === 'session') sent.session = gist(event.session)
    else if (event.type === 'turn') sent.turn = event.status === 'busy' ? 'busy' : 'idle'
  }

  function emit(event: SessionEvent): void {
    if (isStopped) return
    note(event)
    send(event)
  }

  async function changedMessages(): Promise<Message[]> {
    const rows = await messagesStoredSince(deps.db, sessionId, seen.at)
    const fresh = rows.filter(({ message }) => seen.messages.get(message.message_id) !== JSON.stringify(message))
    const at = rows.reduce((latest, row) => (row.at > latest ? row.at : latest), seen.at)
    const newest = rows.filter((row) => row.at >= at)
    seen = { at, messages: new Map(newest.map(({ message }) => [message.message_id, JSON.stringify(message)])) }
    return fresh.map(({ message }) => message)
  }

  /** Returns the pause until the next poll. */
  async function poll(): Promise<number> {
    // This server runs the sandbox, and its follower publishes sooner.
    if (deps.sessions.daemonOf(sessionId) !== null) return liveMs
    const now = await getSession(deps.db, projectId, sessionId)
    if (now === null) return stoppedMs
    // Read before the messages: the end of a turn is stored after its last message.
    const isBusy = await isAtWork(deps, now)
    for (const message of await changedMessages()) emit({ type: 'message', message })
    const event = { type: 'session' as const, session: presentSession(deps.config, now) }
    if (gist(event.session) !== sent.session) emit(event)
    const status = isBusy ? 'busy' : 'idle'
    if (status !== sent.turn) emit({ type: 'turn', status, error: null })
    return now.status === 'running' || now.status === 'provisioning' ? liveMs : stoppedMs
  }

  function schedule(ms: number): void {
    if (isStopped) return
    timer = setTimeout(() => {
      void poll()
        .catch((error: unknown) => {
          deps.log.warn({ err: error, session_id: sessionId }, 'polling a session failed')
          return stoppedMs
        })
        .then(schedule)
    }, ms)
  }

  return {
    note,
    start() {
      seen.at = new Date(Date.now() - 2_000)
      schedule(liveMs)
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** Excludes times, which change with each activity. */
const gist = ({ status, error, last_turn_error, name, model, agent_name, metadata, sandbox, asleep_since }: Session) =>
  JSON.stringify([status, error, last_turn_error, name, model, agent_name, metadata, sandbox, asleep_since])
