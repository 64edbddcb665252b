/** Applies changes of the default branch to a running sandbox. */
import { ServiceError, sessionMoves, type SessionRefresh, type SessionStatus } from '@svc/contract'
import '../../failpoint.ts'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { getProject } from '../../projects/store.ts'
import { auditOf } from '../audit.ts'
import { getSessionById, type SessionWithSandbox } from '../store.ts'
import { publishSession } from '../publish-session.ts'
import type { DaemonAddress } from '../../sandboxes/daemon-client.ts'
import { attempt, type Outcome, readDefaultBranch } from './attempt.ts'
import { requestRefresh, updateWaitingRefresh, finishRefresh } from './store.ts'

type RefreshDeps = Pick<
  Deps,
  'config' | 'db' | 'egress' | 'feed' | 'sessions' | 'keyring' | 'localLocks' | 'log' | 'now' | 'redaction'
>

/** Each refresh restarts the agent runtime, and agents may request refreshes in a loop. */
const pauseMs = 5_000
const pauseReason = 'Another refresh ran less than 5 seconds ago. This one starts in a moment.'
/** When a requested refresh last began during a turn and between turns, so that the former does not delay the latter. */
const lastRequest = { busy: new WeakMap<DaemonAddress, number>(), idle: new WeakMap<DaemonAddress, number>() }

function isTooSoon(last: WeakMap<DaemonAddress, number>, daemon: DaemonAddress, now: Date): boolean {
  const began = last.get(daemon)
  if (began !== undefined && now.getTime() - began < pauseMs) return true
  last.set(daemon, now.getTime())
  return false
}

/** Requests a refresh. It waits while the agent is busy, or for the server that runs the sandbox. */
export async function refreshSession(
  deps: RefreshDeps,
  { session, caller }: { session: SessionWithSandbox; caller: Caller },
): Promise<SessionWithSandbox> {
  const from: readonly SessionStatus[] = sessionMoves.refresh.from
  const isAccepted =
    from.includes(session.status) &&
    (await deps.db.transaction().execute(async (trx) => {
      const outcome = await requestRefresh(trx, session, { cause: 'request', at: deps.now() })
      // A request that joins a waiting one changes nothing.
      if (outcome === 'new') await recordAudit(trx, caller, auditOf(session, 'refresh'))
      return outcome !== null
    }))
  if (!isAccepted) throw notRunning((await getSessionById(deps.db, session.session_id)) ?? session)
  await failpoint('session.refresh.after_row')
  await refreshWhenIdle(deps, session.session_id)
  return (await getSessionById(deps.db, session.session_id)) ?? session
}

function notRunning({ session_id: sessionId, status }: SessionWithSandbox): ServiceError {
  const hint =
    status === 'stopped' || status === 'failed'
      ? `Restart it to apply the changes: svc sessions restart ${sessionId.slice(0, 8)}`
      : 'It starts with the current default branch. Try again once it runs.'
  return new ServiceError('conflict', `This session is ${status}, so there is no running sandbox to refresh.`, {
    hint,
    detail: { status },
  })
}

/** Applies the waiting refresh of a session on this server. While the agent is busy, it applies only settings that the runtime does not read. `unavailable`: the repository cannot be read now. */
export async function refreshWhenIdle(deps: RefreshDeps, sessionId: string): Promise<'unavailable' | null> {
  const attachedDaemon = deps.sessions.daemonOf(sessionId)
  const waiting = await getSessionById(deps.db, sessionId)
  if (attachedDaemon === null || waiting?.refresh?.status !== 'waiting') return null
  const turn = deps.sessions.turnOf(sessionId)
  if (waiting.refresh.cause === 'request' && isTooSoon(lastRequest[turn], attachedDaemon, deps.now())) {
    const refresh = { ...waiting.refresh, error: turn === 'busy' ? waiting.refresh.error : pauseReason }
    await updateWaitingRefresh(deps.db, waiting, { requested: waiting.refresh, refresh, inForce: null, at: deps.now() })
    return null
  }
  const project = await getProject(deps.db, waiting.project_id)
  if (project === null) return null
  // Read before the lock, so that prompts do not wait for a slow git host.
  const unread = await readDefaultBranch(deps, project)
  // The lock delays prompts, so that no turn begins that a restart of the runtime would interrupt.
  return deps.localLocks.run(`prompts ${sessionId}`, async () => {
    const daemon = deps.sessions.daemonOf(sessionId)
    if (daemon === null) return null
    const session = await getSessionById(deps.db, sessionId)
    if (session?.status !== 'running' || session.generation !== daemon.generation) return null
    const requested = session.refresh
    if (requested?.status !== 'waiting') return null
    const isBusy = deps.sessions.turnOf(sessionId) === 'busy'
    const startedAt = deps.now()
    const began = performance.now()
    const outcome = await attempt(deps, { session, requested, daemon, isBusy, unread })
    if (outcome === null) return null
    const refresh = resultOf(deps, session, { requested, outcome })
    const { settled_at } = refresh
    const { inForce } = outcome
    let isChanged = true
    if (settled_at === null)
      isChanged = await updateWaitingRefresh(deps.db, session, { requested, refresh, inForce, at: deps.now() })
    else {
      await failpoint('session.refresh.after_daemon')
      const times = { startedAt, ms: performance.now() - began }
      const finished = { refresh: { ...refresh, settled_at }, inForce, note: noteOf(refresh), ...times }
      await deps.db.transaction().execute((trx) => finishRefresh(trx, session, finished))
    }
    if (isChanged) await publishSession(deps, sessionId)
    return outcome.isUnavailable === true ? 'unavailable' : null
  })
}

function resultOf(
  deps: RefreshDeps,
  { session_id: sessionId }: SessionWithSandbox,
  { requested, outcome }: { requested: SessionRefresh; outcome: Outcome },
): SessionRefresh {
  const { status, applied, needsRestart = requested.needs_restart } = outcome
  return {
    status,
    cause: requested.cause,
    requested_at: requested.requested_at,
    settled_at: status === 'waiting' ? null : deps.now().toISOString(),
    applied,
    needs_restart: needsRestart,
    error: outcome.error === null ? null : deps.redaction.of(sessionId).text(outcome.error),
  }
}

function noteOf({ applied, needs_restart: needsRestart }: SessionRefresh): string | null {
  const notes = [
    applied.length === 0 ? null : `Applied: ${applied.join(', ')}.`,
    needsRestart.length === 0 ? null : `Restart the session to apply: ${needsRestart.join(', ')}.`,
  ]
  return notes.filter((text) => text !== null).join(' ') || null
}
