/** Takes over the sandbox of a session that outlived its server: its row, its secrets for redaction, and its egress. */
import type { Sandbox, SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../../deps.ts'
import { isDatabaseUnavailable } from '../../db/unavailable.ts'
import { getProject } from '../../projects/store.ts'
import { type Answer, reopenSandbox, silentReason, untilAnswers } from '../../sandboxes/adopt.ts'
import { readHealth } from '../../sandboxes/daemon-client.ts'
import { getSandbox, takeOverSandbox } from '../../sandboxes/store.ts'
import { redactorOfSession } from '../../secrets/redactor-for.ts'
import { readStored, type StoredConversation } from '../conversation/stored.ts'
import type { SessionWithSandbox } from '../store.ts'
import { recordSleep } from './record-sleep.ts'
import { setUnsavedWork } from '../unfinished-work/snapshot-store.ts'
import { unsavedReason } from '../unfinished-work/watch.ts'

type AdoptDeps = Pick<
  Deps,
  'config' | 'db' | 'egress' | 'instanceId' | 'keyring' | 'localLocks' | 'log' | 'now' | 'redaction'
>

const notAsked = unsavedReason('The sandbox could not be asked for them.')

interface Adopted {
  sandbox: Sandbox
  status: 'booting' | 'ready' | 'failed' | 'warm'
  runtimeSessionId: string | null
  asleepMs: number | null
  error: string | null
}

/** The sandbox that an earlier server left for this session. */
export async function findLeft(
  driver: SandboxDriver | null,
  { sandbox }: Pick<SessionWithSandbox, 'sandbox'>,
): Promise<Sandbox | null> {
  return driver?.outlives && sandbox !== null ? driver.find(sandbox.sandbox_id) : null
}

/** `gone` also when the sandbox belongs to another server by now. Throws the reason of `signal`. */
export async function adoptSandbox(
  deps: AdoptDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  signal: AbortSignal,
): Promise<Answer<Adopted>> {
  const { session_id: sessionId, project_id: projectId } = session
  const sandboxId = session.sandbox?.sandbox_id
  if (sandboxId === undefined) return { kind: 'gone' }
  const sandbox = await driver.find(sandboxId)
  const row = await getSandbox(deps.db, sandboxId)
  const project = await getProject(deps.db, projectId)
  // Without what it was made with, its egress is unknown: its server was killed while it made the sandbox.
  if (sandbox === null || row === null || row.in_force === null || project === null) return { kind: 'gone' }
  if (!(await takeOverSandbox(deps.db, row, deps.instanceId))) return { kind: 'gone' }
  await redactorOfSession(deps, project, sessionId)
  await reopenSandbox(deps, { sandboxId, sessionId, projectId, egress: row.in_force.egress })
  const ask = async (timeoutMs: number): Promise<Adopted | null> => {
    const outcome = await readHealth(sandbox.daemonSocket, { signal, timeoutMs })
    if (outcome.kind !== 'ok') return null
    const { status, runtime_session_id: runtimeSessionId, runtime_asleep_ms: asleepMs, error } = outcome.value
    return { sandbox, status, runtimeSessionId, asleepMs, error }
  }
  return untilAnswers(deps, driver, sandboxId, { ask, signal })
}

type LeftRunning = Adopted & { kind: 'running'; stored: StoredConversation }

/** The sandbox of a running session, or why the session cannot go on in it. Without a reason it has ended by itself. */
export async function adoptRunning(
  deps: AdoptDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  signal: AbortSignal,
): Promise<LeftRunning | { kind: 'lost'; reason: string | null }> {
  const { session_id: sessionId, generation } = session
  const answer = await adoptSandbox(deps, driver, session, signal)
  if (answer.kind === 'gone') return { kind: 'lost', reason: null }
  if (answer.kind === 'silent') {
    await setUnsavedWork(deps.db, { sessionId, generation }, notAsked)
    return { kind: 'lost', reason: silentReason }
  }
  const adopted = answer.value
  if (adopted.status !== 'ready')
    return { kind: 'lost', reason: adopted.error ?? 'The agent runtime ended without a reason.' }
  const stored = await readStored(deps.db, sessionId)
  const since = adopted.asleepMs === null ? null : new Date(deps.now().getTime() - adopted.asleepMs)
  await recordSleep(deps, { ...session, sandboxId: adopted.sandbox.sandboxId }, { since, wake: null })
  signal.throwIfAborted()
  return { ...adopted, kind: 'running', stored }
}

/** Records that the last changes may be lost, until a save says otherwise. False when no sandbox is left to be read. */
export async function mayEndUnread(
  deps: Pick<Deps, 'db' | 'sandboxes'>,
  session: SessionWithSandbox,
): Promise<boolean> {
  if ((await findLeft(deps.sandboxes, session)) === null) return false
  const { session_id: sessionId, generation } = session
  await setUnsavedWork(deps.db, { sessionId, generation }, notAsked)
  return true
}

/**
 * A stop succeeds, also when the sandbox cannot be taken over first, for example because a secret does not open. Without
 * the database nothing has ended yet, and the stop is tried again.
 */
export function endsUnread({ log }: Pick<Deps, 'log'>, sessionId: string): (error: unknown) => void {
  return (error) => {
    if (isDatabaseUnavailable(error)) throw error
    log.warn({ err: error, session_id: sessionId }, 'a sandbox ends without its last messages and changes')
  }
}
