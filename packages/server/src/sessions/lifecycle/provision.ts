import { ServiceError } from '@svc/contract'
import { type Sandbox, type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { modelCatalog } from '../../model-catalog/catalog.ts'
import { readManifestAt } from '../../projects/manifest.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject } from '../../projects/store.ts'
import { waitsForCopy } from '../../projects/replicas/uncopied.ts'
import { silentReason } from '../../sandboxes/adopt.ts'
import { requireActing } from './acts-for.ts'
import { adoptSandbox } from './adopt.ts'
import { bootEnvironment } from './boot-environment.ts'
import { baseTip, ensureSessionBranch } from '../create/branch.ts'
import { mintSandboxKeys, type SandboxKeys } from './credentials.ts'
import { readHealth } from '../../sandboxes/daemon-client.ts'
import { makeSandbox } from '../../sandboxes/make.ts'
import { PhaseJournal } from './phases.ts'
import { projectImage } from '../../sandboxes/project-image.ts'
import { runningMs } from '../../running-ms.ts'
import { inForceAt } from '../refresh/runtime-files.ts'
import { insertSandbox, setInForce, updateSandbox } from '../../sandboxes/store.ts'
import type { SessionWithSandbox } from '../store.ts'

export type ProvisionDeps = Pick<
  Deps,
  | 'db'
  | 'config'
  | 'keyring'
  | 'localLocks'
  | 'locks'
  | 'redaction'
  | 'now'
  | 'newId'
  | 'randomBytes'
  | 'instanceId'
  | 'log'
  | 'relaySocket'
  | 'egress'
  | 'home'
  | 'replicas'
  | 'tracing'
>

/** A boot that takes longer is stuck; a large clone takes longest. */
const bootMsMax = 20 * 60_000
/** A boot is stuck when no step ends for this long. */
const stepMsMax = 3 * 60_000
/** For the setup command of the project, which the daemon limits to less. */
const setupMsMax = 10 * 60_000
const healthEveryMs = 25

/** Another server provisions this generation, so there is nothing to do. */
export class ClaimedElsewhere extends Error {}

interface Provisioned {
  sandbox: Sandbox
  runtimeSessionId: string | null
}

/** Makes the sandbox of a session in `provisioning` and waits until its agent runtime answers. After an error, the caller stops the sandbox. */
export async function provision(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  sandboxId: string,
  { journal, signal }: { journal: PhaseJournal; signal: AbortSignal },
): Promise<Provisioned> {
  const project = await getProject(deps.db, session.project_id)
  if (project === null) throw new ServiceError('not_found', 'The project of this session was deleted.')
  const repository = await openRepository(deps, project)
  await journal.run('branch', (waits) => {
    const onWait = (reason: string) => waits(waitsForCopy(reason))
    return ensureSessionBranch(deps, { project, repository }, session, { signal, onWait })
  })
  await failpoint('session.provision.after_branch')
  const { env, settings, image, inForce } = await journal.run('prepare', async () => {
    const keys = await claimGeneration(deps, driver, session, sandboxId)
    const commit = await baseTip(repository, project.default_branch)
    const manifest = await readManifestAt(repository, commit)
    const models = await modelCatalog(deps)
    const of = { sandbox_id: sandboxId, generation: session.generation }
    return {
      env: await bootEnvironment(deps, { project, session, sandbox: of, keys, manifest, model: session.model, models }),
      settings: manifest.sandbox,
      inForce: await inForceAt(repository, commit, manifest),
      image: await projectImage(driver, repository, { commit, settings: manifest.sandbox }),
    }
  })
  await failpoint('session.provision.after_claim')
  const making = { sandboxId, projectId: project.project_id, env, settings, image }
  const sandbox = await journal.run('sandbox', () => makeSandbox(deps, driver, making, signal))
  await setInForce(deps.db, session, inForce)
  await updateSandbox(deps.db, sandboxId, { external_id: sandbox.externalId, endpoint: sandbox.daemonSocket })
  const { runtime_session_id } = await boot(deps, sandbox, journal, signal)
  return { sandbox, runtimeSessionId: runtime_session_id }
}

/** Waits for the boot of a sandbox that an earlier server made for this session. */
export async function continueBoot(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  signal: AbortSignal,
): Promise<Provisioned> {
  const answer = await adoptSandbox(deps, driver, session, signal)
  if (answer.kind === 'silent') throw new SandboxError('boot-failed', silentReason)
  // An unclaimed warm sandbox: the server that knew its commit is gone.
  if (answer.kind === 'gone' || answer.value.status === 'warm')
    throw new SandboxError('boot-failed', 'The server that started this sandbox stopped.')
  const { sandbox } = answer.value
  const journal = new PhaseJournal(deps, session)
  await journal.resume()
  await updateSandbox(deps.db, sandbox.sandboxId, { external_id: sandbox.externalId, endpoint: sandbox.daemonSocket })
  const { runtime_session_id } = await boot(deps, sandbox, journal, signal)
  return { sandbox, runtimeSessionId: runtime_session_id }
}

function boot(deps: ProvisionDeps, sandbox: Sandbox, journal: PhaseJournal, signal: AbortSignal) {
  const ready = () => awaitBoot(deps, sandbox, 'ready', (steps) => journal.report(steps), signal)
  return deps.tracing.span('boot sandbox', {}, ready)
}

/** Claims the generation with its sandbox row, which is unique, so that only one of two servers provisions it. */
async function claimGeneration(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  sandboxId: string,
): Promise<SandboxKeys> {
  return deps.db.transaction().execute(async (trx) => {
    const sandbox = { sandbox_id: sandboxId, session_id: session.session_id, generation: session.generation }
    const isOurs = await insertSandbox(trx, {
      ...sandbox,
      driver: driver.name,
      status: 'provisioning',
      instance_id: deps.instanceId,
    })
    if (!isOurs) throw new ClaimedElsewhere(`Generation ${session.generation} has a sandbox already.`)
    return mintSandboxKeys(deps, trx, { session, sandbox, userId: await requireActing(trx, session) })
  })
}

type Step = Parameters<PhaseJournal['report']>[0][number]

/** Waits until the daemon reports `wanted`, and calls `report` when a step begins or ends. */
export async function awaitBoot(
  deps: Pick<Deps, 'now'>,
  sandbox: Sandbox,
  wanted: 'ready' | 'warm',
  report: (steps: Step[]) => Promise<void>,
  signal: AbortSignal,
): Promise<{ runtime_session_id: string | null }> {
  const ran = runningMs(deps)
  let movedAt = 0
  let seen = ''
  for (;;) {
    signal.throwIfAborted()
    const outcome = await readHealth(sandbox.daemonSocket)
    const now = ran()
    if (outcome.kind === 'ok') {
      const { value } = outcome
      const steps = value.boot.map((step) => ({
        name: step.step,
        started_at: new Date(deps.now().getTime() - value.uptime_ms + step.at_ms),
        ms: step.ms,
        error: step.failed === true && value.status === 'failed' ? value.error : null,
      }))
      const shape = JSON.stringify([value.status === 'failed', value.boot.map((step) => [step.step, step.ms === null])])
      if (shape !== seen) {
        seen = shape
        movedAt = now
        await report(steps)
      }
      if (value.status === 'failed')
        throw new SandboxError(
          'boot-failed',
          value.error ?? 'The sandbox did not boot, and its daemon reports no reason.',
        )
      if (value.status === wanted) {
        await report(steps)
        return value
      }
    }
    const isSetup = outcome.kind === 'ok' && outcome.value.boot.findLast((step) => step.ms === null)?.step === 'setup'
    if (now - movedAt > (isSetup ? setupMsMax : stepMsMax) || now > bootMsMax)
      throw new SandboxError(
        'boot-failed',
        `The sandbox did not become ready: ${outcome.kind === 'ok' ? lastStep(outcome.value.boot) : outcome.reason}`,
      )
    await new Promise((resolve) => setTimeout(resolve, healthEveryMs))
  }
}

function lastStep(boot: { step: string; ms: number | null }[]): string {
  const running = boot.findLast((step) => step.ms === null)
  return running === undefined ? 'its daemon reports no running step.' : `the step "${running.step}" did not end.`
}
