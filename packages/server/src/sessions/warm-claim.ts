/** A session takes a sandbox that waited for one. */
import { type Sandbox, type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { chosenEnvironment } from './boot-environment.ts'
import { enliven, sandboxKey } from './credentials.ts'
import { claimSandbox } from './daemon-client.ts'
import { PhaseJournal } from './phases.ts'
import { insertSandbox, type SessionWithSandbox } from './store.ts'
import type { WarmRow } from './warm-store.ts'

/** From here on its values work, and for this user. In the transaction that writes the session. */
export async function adoptWarm(
  deps: Pick<Deps, 'newId' | 'instanceId'>,
  trx: DbOrTransaction,
  input: { warm: WarmRow; caller: Caller },
): Promise<void> {
  const { warm, caller } = input
  await insertSandbox(trx, {
    sandbox_id: warm.sandbox_id,
    session_id: warm.session_id,
    driver: warm.driver,
    external_id: warm.external_id,
    status: 'provisioning',
    generation: 1,
    endpoint: warm.endpoint,
    instance_id: deps.instanceId,
    error: null,
  })
  await enliven(deps, trx, {
    session: warm,
    sandbox: { sandbox_id: warm.sandbox_id, generation: 1 },
    userId: caller.actor.user_id,
    service: warm.service_sha256,
    token: warm.token_sha256,
    model: warm.model_sha256,
  })
}

/** Tells its daemon whose it is now. Throws when it is not there any more, or will not. */
export async function claimWarm(
  deps: Pick<Deps, 'db' | 'now' | 'keyring' | 'redaction'>,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  warm: { sandboxId: string; commit: string },
): Promise<{ sandbox: Sandbox; runtimeSessionId: string | null }> {
  const { sandboxId, commit } = warm
  await failpoint('session.claim.before_daemon')
  return new PhaseJournal(deps, session).run('claim', async () => {
    const sandbox = await driver.find(sandboxId)
    if (sandbox === null) throw new SandboxError('boot-failed', 'The sandbox that was kept warm is gone.')
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
