/** Sandboxes of apps and checks. They have the files of a commit, no session and no access to the service. */
import { type AppSpec, type Manifest, sizeText } from '@svc/contract'
import { ArchiveTooLarge, type Repository, streamArchive } from '@svc/git'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import { sendWorkload, type WorkloadDaemon } from './workload-daemon.ts'
import { PermanentFailure } from './failure-reason.ts'
import { sandboxKey } from './key.ts'
import { makeSandbox } from './make.ts'
import { projectImage } from './project-image.ts'

export type WorkloadDeps = Pick<
  Deps,
  'db' | 'config' | 'keyring' | 'log' | 'redaction' | 'egress' | 'relaySocket' | 'tracing'
>

/** `settings` and the image of `commit` decide the isolation: limits, hosts and programs. */
export async function makeWorkloadSandbox(
  deps: WorkloadDeps,
  driver: SandboxDriver,
  input: {
    kind: 'app' | 'check'
    sandboxId: string
    projectId: string
    repository: Repository
    commit: string
    settings: Manifest['sandbox']
  },
  signal: AbortSignal,
): Promise<WorkloadDaemon> {
  const { kind, sandboxId, projectId, repository, commit, settings } = input
  const { setup: _, ...limits } = settings
  const key = sandboxKey(deps, sandboxId)
  // It has no session, so the id of the sandbox names the redactor of its output.
  deps.redaction.sandboxBegins(sandboxId, sandboxId, { SVC_TOKEN: key })
  const sandbox = await makeSandbox(
    deps,
    driver,
    {
      sandboxId,
      projectId,
      env: { SVC_SANDBOX_KIND: kind, SVC_TOKEN: key, SVC_SESSION_ID: sandboxId, SVC_SANDBOX_GENERATION: '1' },
      settings: limits,
      image: await projectImage(driver, repository, { commit, settings }),
      reachesService: false,
    },
    signal,
  )
  return { socket: sandbox.daemonSocket, key }
}

export async function sendFiles(
  daemon: WorkloadDaemon,
  spec: AppSpec,
  files: { repository: Repository; commit: string; bytesMax: number },
  signal: AbortSignal,
): Promise<void> {
  const { repository, commit, bytesMax } = files
  try {
    await sendWorkload(daemon, spec, await streamArchive(repository, commit, { bytesMax, signal }), signal)
  } catch (error) {
    if (!(error instanceof ArchiveTooLarge)) throw error
    throw new PermanentFailure(
      `The files of this commit exceed ${sizeText(bytesMax)}, the limit for apps and checks. Remove large files from the repository, or ask the operator for a higher quota.`,
      { cause: error },
    )
  }
}
