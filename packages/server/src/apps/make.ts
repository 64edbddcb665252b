/** From a deploy's row to a sandbox that has its files and is about to build. Throws with the reason. */
import { type AppSpec, appPortDefault, fillAppEnv, ServiceError } from '@svc/contract'
import { streamArchive } from '@svc/git'
import { type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { readManifestAt } from '../projects/manifest.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import { openSecrets } from '../secrets/change.ts'
import { type AppDaemon, AppDaemonError, sendApp } from '../sessions/app-daemon.ts'
import { sandboxKey } from '../sessions/credentials.ts'
import { makeSandbox } from '../sessions/make-sandbox.ts'
import { projectImage } from '../sessions/project-image.ts'
import type { DeployRow } from './store.ts'

export type MakeDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'redaction' | 'egress' | 'relaySocket'>

const filesBytesMax = 512 * 1024 ** 2
const buildMsMax = 15 * 60_000
const startMsMax = 60_000

/** What was asked for cannot be, and trying again changes nothing. */
export class CannotDeploy extends Error {}

export async function makeApp(
  deps: MakeDeps,
  driver: SandboxDriver,
  input: { deploy: DeployRow; sandboxId: string },
  signal: AbortSignal,
): Promise<AppDaemon> {
  const { deploy, sandboxId } = input
  const { definition, commit_sha: commit } = deploy
  const project = await getProject(deps.db, deploy.project_id)
  if (project === null) throw new CannotDeploy('The project of this app is gone.')
  const { env, missing } = fillAppEnv(definition.env, await openSecrets(deps, project))
  if (missing.length > 0)
    throw new CannotDeploy(
      `Its entry names ${missing.length === 1 ? 'a secret that is' : 'secrets that are'} not set: ${missing.join(', ')}. Set ${missing.length === 1 ? 'it' : 'each'}: svc secrets set ${missing[0]}`,
    )
  const repository = await openRepository(deps, project)
  const { sandbox: settings } = await readManifestAt(repository, commit)
  const { setup: _, ...limits } = settings
  const key = sandboxKey(deps, sandboxId)
  // Also so that a value that is replaced while it runs is still looked for in what it says.
  deps.redaction.sandboxBegins(project.project_id, sandboxId, { SVC_TOKEN: key })
  const sandbox = await makeSandbox(
    deps,
    driver,
    {
      sandboxId,
      projectId: project.project_id,
      env: {
        ...{ SVC_SANDBOX_KIND: 'app', SVC_TOKEN: key, SVC_SESSION_ID: sandboxId, SVC_SANDBOX_GENERATION: '1' },
      },
      settings: limits,
      image: await projectImage(driver, repository, { commit, settings }),
      reachesService: false,
    },
    signal,
  )
  await failpoint('app.deploy.after_sandbox')
  const daemon = { socket: sandbox.daemonSocket, key }
  const spec: AppSpec = {
    ...{ slug: definition.slug, commit, build: definition.build, command: definition.command },
    ...{ static_dir: definition.static_dir, port: definition.port ?? appPortDefault, env },
    ...{ build_ms_max: buildMsMax, start_ms_max: startMsMax },
  }
  const files = await streamArchive(repository, commit, { bytesMax: filesBytesMax, signal })
  await sendApp(daemon, spec, files, signal)
  await failpoint('app.deploy.after_files')
  return daemon
}

/** The sentence a deploy shows for why it failed, with the line that mends it when there is one. */
export function reasonOf(error: unknown): string {
  if (error instanceof SandboxError || error instanceof ServiceError)
    return error.hint === null ? error.message : `${error.message} ${error.hint}`
  if (error instanceof CannotDeploy || error instanceof AppDaemonError) return error.message
  if (error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return 'The disk of the server is full.'
  return 'Something went wrong on our side while the app was deployed; the log of the server says what.'
}
