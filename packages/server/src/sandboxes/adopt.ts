/** Takes over sandboxes that outlived their server. */
import { setTimeout as pause } from 'node:timers/promises'
import { defaultEgress } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import type { EgressInForce } from './in-force.ts'
import { sandboxKey } from './key.ts'
import { watchWorkload, type WorkloadDaemon } from './workload-daemon.ts'

type AdoptDeps = Pick<Deps, 'egress' | 'keyring' | 'log' | 'redaction'>

interface LeftSandbox extends EgressInForce {
  sandboxId: string
  /** Names the redactor of its output. */
  sessionId: string
  projectId: string
}

/** A daemon answers at once, unless the machine is very busy. */
export const answerMsMax = 15_000
const retryMs = 200

/** What a sandbox needs of its server: the redaction of its key, and its way out. */
export async function reopenSandbox(deps: AdoptDeps, left: LeftSandbox): Promise<void> {
  const { sandboxId, sessionId, projectId, egress } = left
  deps.redaction.sandboxBegins(sessionId, sandboxId, { SVC_TOKEN: sandboxKey(deps, sandboxId) })
  await deps.egress.open(sandboxId, egress ?? defaultEgress, { project_id: projectId })
}

/** Null when the sandbox of an app or a check ended meanwhile or does not answer. */
export async function adoptWorkload(
  deps: AdoptDeps,
  driver: SandboxDriver,
  left: { sandboxId: string; projectId: string; inForce: EgressInForce },
  signal: AbortSignal,
): Promise<WorkloadDaemon | null> {
  const { sandboxId, projectId, inForce } = left
  const sandbox = await driver.find(sandboxId)
  if (sandbox === null) return null
  await reopenSandbox(deps, { sandboxId, sessionId: sandboxId, projectId, egress: inForce.egress })
  const daemon = { socket: sandbox.daemonSocket, key: sandboxKey(deps, sandboxId) }
  const deadline = Date.now() + answerMsMax
  for (;;)
    try {
      await watchWorkload(daemon, { after: 0, state: null, wait_ms: 0 }, signal)
      return daemon
    } catch (error) {
      signal.throwIfAborted()
      if (Date.now() > deadline) {
        deps.log.warn({ err: error, sandbox_id: sandboxId }, 'a sandbox of an earlier server does not answer')
        return null
      }
      await pause(retryMs)
    }
}
