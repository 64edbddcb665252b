/** Sandboxes that belong to no session: of apps and of checks. A daemon, the files of a commit, no secret and no way to the service. */
import { type AppSpec, type Manifest, ServiceError, sizeText } from '@svc/contract'
import { ArchiveTooLarge, type Repository, streamArchive } from '@svc/git'
import { type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import { type AppDaemon, AppDaemonError, sendApp } from './app-daemon.ts'
import { sandboxKey } from './credentials.ts'
import { makeSandbox } from './make-sandbox.ts'
import { projectImage } from './project-image.ts'

export type ApartDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'redaction' | 'egress' | 'relaySocket'>

/** What was asked for cannot be, and trying again changes nothing. Its message is for a person. */
export class CannotBe extends Error {}

/** `settings` and the image of `commit` are the walls: limits, hosts, programs. */
export async function makeSandboxApart(
  deps: ApartDeps,
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
): Promise<AppDaemon> {
  const { kind, sandboxId, projectId, repository, commit, settings } = input
  const { setup: _, ...limits } = settings
  const key = sandboxKey(deps, sandboxId)
  // It has no session: its log is searched for what this one sandbox is given.
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
  daemon: AppDaemon,
  spec: AppSpec,
  files: { repository: Repository; commit: string; bytesMax: number },
  signal: AbortSignal,
): Promise<void> {
  const { repository, commit, bytesMax } = files
  try {
    await sendApp(daemon, spec, await streamArchive(repository, commit, { bytesMax, signal }), signal)
  } catch (error) {
    if (!(error instanceof ArchiveTooLarge)) throw error
    throw new CannotBe(
      `The files of this commit are larger than ${sizeText(bytesMax)}, the most an app or a check may be given. Take large files out of the repository, or ask for a higher quota.`,
      { cause: error },
    )
  }
}

/** The sentence that is shown for why it ended, with the line that mends it when there is one. `doing` ends "while …". */
export function reasonApart(error: unknown, doing: string): string {
  if (error instanceof SandboxError || error instanceof ServiceError)
    return error.hint === null ? error.message : `${error.message} ${error.hint}`
  if (error instanceof CannotBe || error instanceof AppDaemonError) return error.message
  if (error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return 'The disk of the server is full.'
  return `Something went wrong on our side while ${doing}; the log of the server says what.`
}
