/** Makes the sandbox of a deploy and sends it the files to build. Throws with the reason. */
import { type AppSpec, appPortDefault, fillAppEnv, secretsNamedIn } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import '../failpoint.ts'
import { readManifestAt } from '../projects/manifest.ts'
import { quotasOf } from '../projects/quotas.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import { secretsForApp } from '../secrets/for-sandbox.ts'
import type { EgressInForce } from '../sandboxes/in-force.ts'
import type { WorkloadDaemon } from '../sandboxes/workload-daemon.ts'
import { PermanentFailure } from '../sandboxes/failure-reason.ts'
import { makeWorkloadSandbox, sendFiles, type WorkloadDeps } from '../sandboxes/workload-sandbox.ts'
import type { DeployRow } from './store.ts'

const buildMsMax = 15 * 60_000
const startMsMax = 60_000

export async function makeAppSandbox(
  deps: WorkloadDeps,
  driver: SandboxDriver,
  input: { deploy: DeployRow; sandboxId: string },
  signal: AbortSignal,
): Promise<{ daemon: WorkloadDaemon; inForce: EgressInForce }> {
  const { deploy, sandboxId } = input
  const { definition, commit_sha: commit, deploy_id: deployId } = deploy
  const project = await getProject(deps.db, deploy.project_id)
  if (project === null) throw new PermanentFailure('The project of this app was deleted.')
  const names = secretsNamedIn(definition.env)
  const secrets = await secretsForApp(deps, project, { names, deployId, sandboxId })
  const { env, missing } = fillAppEnv(definition.env, secrets)
  if (missing.length > 0)
    throw new PermanentFailure(
      `Its entry in svc.toml names ${missing.length === 1 ? 'a secret that is' : 'secrets that are'} not set: ${missing.join(', ')}. Set ${missing.length === 1 ? 'it' : 'each'}: svc secrets set ${missing[0]}`,
    )
  const repository = await openRepository(deps, project)
  const { sandbox: settings } = await readManifestAt(repository, commit)
  const { project_id: projectId } = project
  const sandbox = { kind: 'app', sandboxId, projectId, repository, commit, settings } as const
  const daemon = await makeWorkloadSandbox(deps, driver, sandbox, signal)
  await failpoint('app.deploy.after_sandbox')
  const { slug, build, command, static_dir } = definition
  const port = definition.port ?? appPortDefault
  const limits = { build_ms_max: buildMsMax, start_ms_max: startMsMax }
  const spec: AppSpec = { slug, commit, build, command, static_dir, port, env, ...limits }
  const { appArchiveBytes: bytesMax } = quotasOf(deps.config, project)
  await sendFiles(daemon, spec, { repository, commit, bytesMax }, signal)
  await failpoint('app.deploy.after_files')
  return { daemon, inForce: { egress: settings.egress ?? null } }
}
