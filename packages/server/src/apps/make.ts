/** From a deploy's row to a sandbox that has its files and is about to build. Throws with the reason. */
import { type AppSpec, appPortDefault, fillAppEnv, secretsNamedIn } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import '../failpoint.ts'
import { readManifestAt } from '../projects/manifest.ts'
import { quotasOf } from '../projects/quotas.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import { openSecrets } from '../secrets/change.ts'
import type { AppDaemon } from '../sessions/app-daemon.ts'
import { type ApartDeps, CannotBe, makeSandboxApart, reasonApart, sendFiles } from '../sessions/sandbox-apart.ts'
import type { DeployRow } from './store.ts'

const buildMsMax = 15 * 60_000
const startMsMax = 60_000

/** What was asked for cannot be, and trying again changes nothing. */
export class CannotDeploy extends CannotBe {}

export async function makeApp(
  deps: ApartDeps,
  driver: SandboxDriver,
  input: { deploy: DeployRow; sandboxId: string },
  signal: AbortSignal,
): Promise<AppDaemon> {
  const { deploy, sandboxId } = input
  const { definition, commit_sha: commit } = deploy
  const project = await getProject(deps.db, deploy.project_id)
  if (project === null) throw new CannotDeploy('The project of this app is gone.')
  const secrets = await openSecrets(deps, project)
  const { env, missing } = fillAppEnv(definition.env, secrets)
  if (missing.length > 0)
    throw new CannotDeploy(
      `Its entry names ${missing.length === 1 ? 'a secret that is' : 'secrets that are'} not set: ${missing.join(', ')}. Set ${missing.length === 1 ? 'it' : 'each'}: svc secrets set ${missing[0]}`,
    )
  const repository = await openRepository(deps, project)
  const { sandbox: settings } = await readManifestAt(repository, commit)
  const { project_id: projectId } = project
  const apart = { kind: 'app', sandboxId, projectId, repository, commit, settings } as const
  const named = new Set(secretsNamedIn(definition.env))
  deps.redaction.given(
    sandboxId,
    Object.entries(secrets).filter(([name]) => named.has(name)),
  )
  const daemon = await makeSandboxApart(deps, driver, apart, signal)
  await failpoint('app.deploy.after_sandbox')
  const spec: AppSpec = {
    ...{ slug: definition.slug, commit, build: definition.build, command: definition.command },
    ...{ static_dir: definition.static_dir, port: definition.port ?? appPortDefault, env },
    ...{ build_ms_max: buildMsMax, start_ms_max: startMsMax },
  }
  const { appArchiveBytes: bytesMax } = quotasOf(deps.config, project)
  await sendFiles(daemon, spec, { repository, commit, bytesMax }, signal)
  await failpoint('app.deploy.after_files')
  return daemon
}

/** The sentence a deploy shows for why it failed. */
export function reasonOf(error: unknown): string {
  return reasonApart(error, 'the app was deployed')
}
