/** Takes over the sandbox of a session that outlived its server: its row, its secrets for redaction, and its egress. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Sandbox, SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../../deps.ts'
import { getProject } from '../../projects/store.ts'
import { answerMsMax, reopenSandbox } from '../../sandboxes/adopt.ts'
import { readHealth } from '../../sandboxes/daemon-client.ts'
import { getSandbox, takeOverSandbox } from '../../sandboxes/store.ts'
import { redactorOfSession } from '../../secrets/redactor-for.ts'
import type { SessionWithSandbox } from '../store.ts'

type AdoptDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'instanceId' | 'keyring' | 'log' | 'redaction'>

const retryMs = 200

export interface Adopted {
  sandbox: Sandbox
  status: 'booting' | 'ready' | 'failed' | 'warm'
  runtimeSessionId: string | null
  asleepMs: number | null
}

/** Null when the sandbox does not live, does not answer, or belongs to another server by now. */
export async function adoptSandbox(
  deps: AdoptDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
): Promise<Adopted | null> {
  const { session_id: sessionId, project_id: projectId } = session
  const sandboxId = session.sandbox?.sandbox_id
  if (sandboxId === undefined) return null
  const sandbox = await driver.find(sandboxId)
  const row = await getSandbox(deps.db, sandboxId)
  const project = await getProject(deps.db, projectId)
  // Without what it was made with, its egress is unknown: its server was killed while it made the sandbox.
  if (sandbox === null || row === null || row.in_force === null || project === null) return null
  if (!(await takeOverSandbox(deps.db, row, deps.instanceId))) return null
  await redactorOfSession(deps, project, sessionId)
  await reopenSandbox(deps, { sandboxId, sessionId, projectId, egress: row.in_force.egress })
  const health = await healthOf(sandbox)
  if (health === null) {
    deps.log.warn({ session_id: sessionId, sandbox_id: sandboxId }, 'a sandbox of an earlier server does not answer')
    return null
  }
  return {
    sandbox,
    status: health.status,
    runtimeSessionId: health.runtime_session_id,
    asleepMs: health.runtime_asleep_ms,
  }
}

async function healthOf(sandbox: Sandbox) {
  const deadline = Date.now() + answerMsMax
  for (;;) {
    const outcome = await readHealth(sandbox.daemonSocket)
    if (outcome.kind === 'ok') return outcome.value
    if (Date.now() > deadline) return null
    await pause(retryMs)
  }
}
