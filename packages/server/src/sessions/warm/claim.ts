import { type Sandbox, type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Caller } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { chosenEnvironment } from '../lifecycle/boot-environment.ts'
import { sandboxKey } from '../../sandboxes/key.ts'
import { activateSandboxKeys } from '../lifecycle/credentials.ts'
import { claimSandbox } from '../../sandboxes/daemon-client.ts'
import { PhaseJournal } from '../lifecycle/phases.ts'
import type { InForce } from '../refresh/in-force.ts'
import { type SessionWithSandbox } from '../store.ts'
import { insertSandbox } from '../../sandboxes/store.ts'
import type { WarmRow } from './store.ts'

/** Makes the keys of the sandbox valid for this user, in the transaction that inserts the session. */
export async function adoptWarm(
  deps: Pick<Deps, 'newId' | 'instanceId'>,
  trx: DbOrTransaction,
  input: { warm: WarmRow; caller: Caller; inForce: InForce },
): Promise<void> {
  const { warm, caller, inForce } = input
  await insertSandbox(trx, {
    sandbox_id: warm.sandbox_id,
    session_id: warm.session_id,
    driver: warm.driver,
    external_id: warm.external_id,
    status: 'provisioning',
    generation: 1,
    endpoint: warm.endpoint,
    instance_id: deps.instanceId,
    in_force: JSON.stringify(inForce),
  })
  await activateSandboxKeys(deps, trx, {
    session: warm,
    sandbox: { sandbox_id: warm.sandbox_id, generation: 1 },
    userId: caller.actor.user_id,
    service: warm.service_sha256,
    token: warm.token_sha256,
    model: warm.model_sha256,
  })
}

/** Assigns the daemon to the session. Throws when the sandbox is gone or refuses. */
export async function claimWarm(
  deps: Pick<Deps, 'db' | 'log' | 'now' | 'keyring' | 'redaction'>,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  warm: { sandboxId: string; commit: string },
): Promise<{ sandbox: Sandbox; runtimeSessionId: string | null }> {
  const { sandboxId, commit } = warm
  await failpoint('session.claim.before_daemon')
  return new PhaseJournal(deps, session).run('claim', async () => {
    const sandbox = await driver.find(sandboxId)
    if (sandbox === null) throw new SandboxError('boot-failed', 'The warm sandbox is gone.')
    const daemon = {
      socket: sandbox.daemonSocket,
      sandboxKey: sandboxKey(deps, sandboxId),
      sessionId: session.session_id,
      generation: session.generation,
    }
    const outcome = await claimSandbox(daemon, { env: chosenEnvironment(session), commit })
    await failpoint('session.claim.after_daemon')
    if (outcome.kind !== 'ok') throw new SandboxError('boot-failed', outcome.reason)
    return { sandbox, runtimeSessionId: outcome.value.runtime_session_id }
  })
}
