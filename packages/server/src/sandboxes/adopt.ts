/** Takes over sandboxes that outlived their server. */
import { defaultEgress } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { runningMs } from '../running-ms.ts'
import type { EgressInForce } from './in-force.ts'
import { sandboxKey } from './key.ts'
import { watchWorkload, type WorkloadDaemon } from './workload-daemon.ts'

type AdoptDeps = Pick<Deps, 'egress' | 'keyring' | 'log' | 'now' | 'redaction'>

interface LeftSandbox extends EgressInForce {
  sandboxId: string
  /** Names the redactor of its output. */
  sessionId: string
  projectId: string
}

/**
 * A daemon on a very busy machine may be silent for long, and giving it up costs a turn. The wait ends before the minute
 * in which every session reaches its true state after a start (docs/decisions/0046).
 */
export const silentMsMax = 50_000
const retryMs = 200
/** How long the first question waits for its answer. Later ones wait longer, or a daemon that is slow each time would never be heard. */
const askMs = 2_000
const askMsMax = 8_000

export const silentReason = `The sandbox did not answer for ${silentMsMax / 1000} seconds after the server restarted, so the server ended it.`

/** `gone`: its first process has ended. `silent`: it lives and does not answer. */
export type Answer<T> = { kind: 'answers'; value: T } | { kind: 'gone' } | { kind: 'silent' }

/** Asks a sandbox that an earlier server left, until it answers. `ask` resolves with null when there is no answer within `ms`. */
export async function untilAnswers<T>(
  deps: Pick<Deps, 'log' | 'now'>,
  driver: SandboxDriver,
  sandboxId: string,
  { ask, signal }: { ask: (ms: number) => Promise<T | null>; signal: AbortSignal },
): Promise<Answer<T>> {
  const asked = runningMs(deps)
  for (let tries = 0; ; tries++) {
    const value = await ask(Math.min(askMs * 2 ** tries, askMsMax))
    signal.throwIfAborted()
    if (value !== null) return { kind: 'answers', value }
    if ((await driver.find(sandboxId)) === null) return { kind: 'gone' }
    const isOver = asked() > silentMsMax
    if (isOver || tries === 0)
      deps.log.warn(
        { sandbox_id: sandboxId },
        `a sandbox of an earlier server does not answer; ${isOver ? 'ending it' : 'asking it again'}`,
      )
    if (isOver) return { kind: 'silent' }
    await pause(retryMs, signal)
  }
}

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
  const ask = () =>
    watchWorkload(daemon, { after: 0, state: null, wait_ms: 0 }, signal).catch((error: unknown) => {
      deps.log.debug({ err: error, sandbox_id: sandboxId }, 'a sandbox of an earlier server did not answer')
      return null
    })
  return (await untilAnswers(deps, driver, sandboxId, { ask, signal })).kind === 'answers' ? daemon : null
}
