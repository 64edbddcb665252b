/** Makes a warm sandbox, and keeps it at the tip of the default branch of its project. */
import { base62, readCredentialPrefix, warmName } from '@svc/contract'
import { type Sandbox, type SandboxDriver, SandboxError } from '@svc/sandbox'
import { sha256 } from '../../auth/credentials.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { pause } from '../../pause.ts'
import { openRepository } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { bootEnvironment } from '../lifecycle/boot-environment.ts'
import { defaultAgent } from '../agents.ts'
import { sandboxKey } from '../../sandboxes/key.ts'
import { makeSandboxKeys } from '../lifecycle/credentials.ts'
import { followBase } from '../../sandboxes/daemon-client.ts'
import { makeSandbox } from '../../sandboxes/make.ts'
import { projectImage } from '../../sandboxes/project-image.ts'
import { awaitBoot, type ProvisionDeps } from '../lifecycle/provision.ts'
import type { WarmPlan } from './plan.ts'
import { deleteWarm, insertWarm, updateWarm, type WarmRow, reserveWarmForUpdate } from './store.ts'

/** How long a daemon may take from its first answer until it takes requests, and how often it is asked. */
const startMsMax = 30_000
const askAgainMs = 50

/** As long as a large clone may take. */
const readCredentialMs = 15 * 60_000

export async function fillWarm(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  input: { project: ProjectRow; plan: WarmPlan },
  signal: AbortSignal,
): Promise<void> {
  const { project, plan } = input
  const sandboxId = deps.newId()
  const { env, row } = await allot(deps, { project, plan, sandboxId, driver: driver.name })
  const read = makeReadCredential(deps)
  // Inserts the row first: a sandbox without a row is ended as an orphan.
  await insertWarm(deps.db, { ...row, read_sha256: read.sha256, read_expires_at: read.expiresAt })
  await orRemove(deps, driver, sandboxId, async () => {
    await failpoint('warm.fill.after_row')
    const settings = plan.manifest.sandbox
    const repository = await openRepository(deps, project)
    const image = await projectImage(driver, repository, { commit: plan.commit, settings })
    const making = { sandboxId, projectId: project.project_id, env, settings, image }
    const sandbox = await makeSandbox(deps, driver, making, signal)
    await updateWarm(deps.db, sandboxId, { external_id: sandbox.externalId, endpoint: sandbox.daemonSocket })
    await failpoint('warm.fill.after_sandbox')
    await follow(deps, sandbox, { commit: plan.commit, credential: read.credential }, signal)
    await awaitBoot(deps, sandbox, 'warm', async () => {}, signal)
    await makeReady(deps, sandboxId, plan.commit)
  })
}

/** Moves a warm sandbox to the new tip, so that a claim need not, and ends it after a failure. */
export async function followWarm(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  warm: WarmRow,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const sandbox = await driver.find(warm.sandbox_id)
  const read = makeReadCredential(deps)
  if (!(await reserveWarmForUpdate(deps.db, warm.sandbox_id, read))) return
  await orRemove(deps, driver, warm.sandbox_id, async () => {
    if (sandbox === null) throw new SandboxError('boot-failed', 'The sandbox is gone.')
    await follow(deps, sandbox, { commit, credential: read.credential }, signal)
    await makeReady(deps, warm.sandbox_id, commit)
  })
}

async function orRemove(deps: Pick<Deps, 'db'>, driver: SandboxDriver, sandboxId: string, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    await driver.stop(sandboxId)
    await deleteWarm(deps.db, sandboxId)
    throw error
  }
}

/** Prepares ids and keys of a future session. The keys are not valid before the claim. */
async function allot(
  deps: ProvisionDeps,
  input: { project: ProjectRow; plan: WarmPlan; sandboxId: string; driver: string },
) {
  const { project, plan, sandboxId } = input
  const sessionId = deps.newId()
  const keys = makeSandboxKeys(deps, sandboxId)
  const env = await bootEnvironment(deps, {
    ...plan,
    project,
    session: {
      session_id: sessionId,
      branch_name: sessionId,
      base_ref: project.default_branch,
      agent_name: defaultAgent,
      initial_prompt: null,
      initial_prompt_delivered_at: null,
    },
    sandbox: { sandbox_id: sandboxId, generation: 1 },
    keys,
  })
  const row = {
    sandbox_id: sandboxId,
    session_id: sessionId,
    project_id: project.project_id,
    instance_id: deps.instanceId,
    driver: input.driver,
    fingerprint: plan.fingerprint,
    in_force: JSON.stringify({ egress: plan.manifest.sandbox.egress ?? null }),
    service_sha256: sha256(keys.serviceKey),
    token_sha256: sha256(keys.projectToken),
    model_sha256: sha256(keys.modelKey),
  }
  return { env: { ...env, [warmName]: '1' }, row }
}

function makeReadCredential(deps: Pick<Deps, 'randomBytes' | 'now'>) {
  const credential = readCredentialPrefix + base62(40, deps.randomBytes)
  return { credential, sha256: sha256(credential), expiresAt: new Date(deps.now().getTime() + readCredentialMs) }
}

async function follow(
  deps: Pick<Deps, 'keyring'>,
  sandbox: Sandbox,
  body: { commit: string; credential: string },
  signal: AbortSignal,
): Promise<void> {
  const daemon = { socket: sandbox.daemonSocket, sandboxKey: sandboxKey(deps, sandbox.sandboxId) }
  const giveUpAt = performance.now() + startMsMax
  let outcome = await followBase(daemon, body, signal)
  // A daemon listens a moment before it has read its keys.
  while (outcome.kind === 'refused' && outcome.code === 'runtime_booting' && performance.now() < giveUpAt) {
    await pause(askAgainMs, signal)
    signal.throwIfAborted()
    outcome = await followBase(daemon, body, signal)
  }
  signal.throwIfAborted()
  if (outcome.kind !== 'ok') throw new SandboxError('boot-failed', outcome.reason)
}

async function makeReady(deps: Pick<Deps, 'db'>, sandboxId: string, commit: string): Promise<void> {
  await failpoint('warm.fill.before_ready')
  const isUpdated = await updateWarm(deps.db, sandboxId, {
    status: 'ready',
    commit_sha: commit,
    read_sha256: null,
    read_expires_at: null,
  })
  if (!isUpdated) throw new SandboxError('aborted', 'The project was deleted.')
}
