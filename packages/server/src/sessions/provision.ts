import { type Manifest, ServiceError } from '@svc/contract'
import { type Sandbox, type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { modelCatalog } from '../model-catalog/catalog.ts'
import { readManifestAt } from '../projects/manifest.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { secretsForSandbox } from '../secrets/for-sandbox.ts'
import { bootEnvironment } from './boot-environment.ts'
import { baseTip, ensureSessionBranch } from './branch.ts'
import { mintSandboxKeys, namesOfKeys, type SandboxKeys } from './credentials.ts'
import { readHealth } from './daemon-client.ts'
import { makeSandbox } from './make-sandbox.ts'
import { PhaseJournal } from './phases.ts'
import { projectImage } from './project-image.ts'
import { insertSandbox, type SessionWithSandbox, updateSandbox } from './store.ts'

export type ProvisionDeps = Pick<
  Deps,
  | 'db'
  | 'config'
  | 'keyring'
  | 'redaction'
  | 'now'
  | 'newId'
  | 'randomBytes'
  | 'instanceId'
  | 'log'
  | 'relaySocket'
  | 'egress'
>

/** A boot that shows no end by then is stuck; the longest honest one is a large clone. */
const bootMsMax = 20 * 60_000
/** A boot in which no step ends for this long is stuck. */
const stepMsMax = 3 * 60_000
/** The project's own command; the daemon ends it before. */
const setupMsMax = 10 * 60_000
const healthEveryMs = 25

/** Another server makes this generation: nothing is wrong, and there is nothing to do. */
export class ClaimedElsewhere extends Error {}

export interface Provisioned {
  sandbox: Sandbox
  runtimeSessionId: string | null
}

/** From a row in `provisioning` to a sandbox whose agent runtime answers. Throws with the true reason; the caller tears down. */
export async function provision(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  sandboxId: string,
  signal: AbortSignal,
): Promise<Provisioned> {
  const journal = new PhaseJournal(deps, session)
  const project = await getProject(deps.db, session.project_id)
  if (project === null) throw new ServiceError('not_found', 'The project of this session is gone.')
  const repository = await openRepository(deps, project)
  await journal.run('branch', () => ensureSessionBranch(deps, repository, session))
  await failpoint('session.provision.after_branch')
  const { env, settings, image } = await journal.run('prepare', async () => {
    const keys = await claimGeneration(deps, driver, session, sandboxId)
    const commit = await baseTip(repository, project.default_branch)
    const manifest = await readManifestAt(repository, commit)
    return {
      env: await environment(deps, { project, session, sandboxId, keys, manifest }),
      settings: manifest.sandbox,
      image: await projectImage(driver, repository, { commit, settings: manifest.sandbox }),
    }
  })
  await failpoint('session.provision.after_claim')
  const making = { sandboxId, projectId: project.project_id, env, settings, image }
  const sandbox = await journal.run('sandbox', () => makeSandbox(deps, driver, making, signal))
  await updateSandbox(deps.db, sandboxId, { external_id: sandbox.externalId, endpoint: sandbox.daemonSocket })
  const { runtime_session_id } = await awaitBoot(sandbox, 'ready', (steps) => journal.report(steps), signal)
  return { sandbox, runtimeSessionId: runtime_session_id }
}

/** The sandbox row is the claim: one a generation, so of two servers that see the same session one makes it. */
async function claimGeneration(
  deps: ProvisionDeps,
  driver: SandboxDriver,
  session: SessionWithSandbox,
  sandboxId: string,
): Promise<SandboxKeys> {
  const userId = session.created_by
  if (userId === null)
    throw new ServiceError('forbidden', 'The user who started this session is gone, so it has nobody to act for.')
  return deps.db.transaction().execute(async (trx) => {
    const sandbox = { sandbox_id: sandboxId, session_id: session.session_id, generation: session.generation }
    const isOurs = await insertSandbox(trx, {
      ...sandbox,
      driver: driver.name,
      external_id: null,
      status: 'provisioning',
      endpoint: null,
      instance_id: deps.instanceId,
      error: null,
    })
    if (!isOurs) throw new ClaimedElsewhere(`Generation ${session.generation} has a sandbox already.`)
    return mintSandboxKeys(deps, trx, { session, sandbox, userId })
  })
}

async function environment(
  deps: ProvisionDeps,
  input: {
    project: ProjectRow
    session: SessionWithSandbox
    sandboxId: string
    keys: SandboxKeys
    manifest: Manifest
  },
): Promise<Record<string, string>> {
  const secrets = await secretsForSandbox(deps, input.project, input.manifest, input.session.session_id)
  deps.redaction.sandboxBegins(input.session.session_id, input.sandboxId, namesOfKeys(input.keys))
  const platform = bootEnvironment({
    project: input.project,
    session: input.session,
    sandbox: { sandbox_id: input.sandboxId, generation: input.session.generation },
    keys: input.keys,
    secretNames: secrets.names,
    configDir: input.manifest.runtime.config_dir,
    runtimeCommand: input.manifest.runtime.command,
    model: input.session.model,
    models: await modelCatalog(deps),
  })
  return { ...secrets.env, ...platform }
}

type Step = Parameters<PhaseJournal['report']>[0][number]

/** Until its daemon says that it is there; `report` hears of each step that began or ended. Throws with the true reason. */
export async function awaitBoot(
  sandbox: Sandbox,
  wanted: 'ready' | 'warm',
  report: (steps: Step[]) => Promise<void>,
  signal: AbortSignal,
): Promise<{ runtime_session_id: string | null }> {
  const startedAt = Date.now()
  let movedAt = startedAt
  let seen = ''
  for (;;) {
    signal.throwIfAborted()
    const outcome = await readHealth(sandbox.daemonSocket)
    const now = Date.now()
    if (outcome.kind === 'ok') {
      const { value } = outcome
      const steps = value.boot.map((step) => ({
        name: step.step,
        started_at: new Date(now - value.uptime_ms + step.at_ms),
        ms: step.ms,
        error: step.ms === null && value.status === 'failed' ? value.error : null,
      }))
      const shape = JSON.stringify(value.boot.map((step) => [step.step, step.ms === null]))
      if (shape !== seen) {
        seen = shape
        movedAt = now
        await report(steps)
      }
      if (value.status === 'failed')
        throw new SandboxError(
          'boot-failed',
          value.error ?? 'The sandbox did not boot and its daemon does not say why.',
        )
      if (value.status === wanted) {
        await report(steps)
        return value
      }
    }
    const isSetup = outcome.kind === 'ok' && outcome.value.boot.findLast((step) => step.ms === null)?.step === 'setup'
    if (now - movedAt > (isSetup ? setupMsMax : stepMsMax) || now - startedAt > bootMsMax)
      throw new SandboxError(
        'boot-failed',
        `The sandbox did not get ready: ${outcome.kind === 'ok' ? lastStep(outcome.value.boot) : outcome.reason}`,
      )
    await new Promise((resolve) => setTimeout(resolve, healthEveryMs))
  }
}

function lastStep(boot: { step: string; ms: number | null }[]): string {
  const running = boot.findLast((step) => step.ms === null)
  return running === undefined ? 'its daemon reports no step that runs.' : `the step "${running.step}" has not ended.`
}
