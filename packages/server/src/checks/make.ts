/** From a run's row to a sandbox that has the files and runs the command. Throws with the reason. */
import { type AppSpec, ServiceError } from '@svc/contract'
import { planMerge, type Repository, streamArchive, treeOf } from '@svc/git'
import { type SandboxDriver, SandboxError } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { bring } from '../projects/bring.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import { openSecrets } from '../secrets/change.ts'
import { type AppDaemon, AppDaemonError, sendApp } from '../sessions/app-daemon.ts'
import { sandboxKey } from '../sessions/credentials.ts'
import { makeSandbox } from '../sessions/make-sandbox.ts'
import { projectImage } from '../sessions/project-image.ts'
import { pairsOfTree, type RunRow } from './store.ts'
import { ofChecks } from './trees.ts'

export type MakeDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'redaction' | 'egress' | 'relaySocket'>

const filesBytesMax = 512 * 1024 ** 2

/** It cannot be run, and trying again by itself changes nothing. */
export class CannotRun extends Error {}

/** The branches moved on meanwhile: whoever wants it again has it run again. */
export class NotWanted extends Error {}

export async function makeCheck(
  deps: MakeDeps,
  driver: SandboxDriver,
  input: { run: RunRow; sandboxId: string },
  signal: AbortSignal,
): Promise<AppDaemon> {
  const { run, sandboxId } = input
  const project = await getProject(deps.db, run.project_id)
  const branch = await getDefaultBranch(deps.db, run.project_id)
  if (project === null || branch?.sha == null) throw new CannotRun('The project of this check is gone.')
  const repository = await openRepository(deps, project)
  const commit = await commitOfTree(deps, repository, run, signal)
  // The sandbox is given none of them; what it writes is looked through for them all the same.
  await openSecrets(deps, project)
  // Limits, hosts and image are those of the default branch: what is being checked does not choose its own walls.
  const { setup: _, ...limits } = branch.manifest.sandbox
  const key = sandboxKey(deps, sandboxId)
  deps.redaction.sandboxBegins(project.project_id, sandboxId, { SVC_TOKEN: key })
  const sandbox = await makeSandbox(
    deps,
    driver,
    {
      sandboxId,
      projectId: project.project_id,
      env: { SVC_SANDBOX_KIND: 'check', SVC_TOKEN: key, SVC_SESSION_ID: sandboxId, SVC_SANDBOX_GENERATION: '1' },
      settings: limits,
      image: await projectImage(driver, repository, { commit: branch.sha, settings: branch.manifest.sandbox }),
      reachesService: false,
    },
    signal,
  )
  await failpoint('check.after_sandbox')
  const daemon = { socket: sandbox.daemonSocket, key }
  const spec: AppSpec = {
    ...{ slug: run.name, commit: run.tree_sha, build: run.command, command: null, static_dir: null, port: 0, env: {} },
    ...{ build_ms_max: deps.config.checks.minutesMax * 60_000, start_ms_max: 0 },
  }
  const files = await streamArchive(repository, commit, { bytesMax: filesBytesMax, signal })
  await sendApp(daemon, spec, files, signal)
  await failpoint('check.after_files')
  return daemon
}

/** A commit whose files are the tree: the head where base only moves forward, else a merge that no branch points to. */
async function commitOfTree(
  deps: Pick<Deps, 'db'>,
  repository: Repository,
  run: RunRow,
  signal: AbortSignal,
): Promise<string> {
  for (const { base_sha: baseSha, head_sha: headSha } of await pairsOfTree(deps.db, run)) {
    const brought = await bring(repository, [baseSha, headSha], signal)
    if (brought.kind === 'unreachable')
      throw new CannotRun(`The repository cannot be reached: ${brought.reason} Run it again later.`)
    if (brought.kind !== 'present') continue
    const plan = await planMerge(repository, { baseSha, headSha, ...ofChecks }, { signal })
    if (plan.kind === 'doubtful') throw new CannotRun(plan.reason)
    if (plan.kind !== 'merge-commit' && plan.kind !== 'fast-forward') continue
    if ((await treeOf(repository, plan.resultSha)) === run.tree_sha) return plan.resultSha
  }
  throw new NotWanted('No open change request gives these files any more.')
}

/** The sentence a run shows for why it could not be run, with the line that mends it when there is one. */
export function reasonOf(error: unknown): string {
  if (error instanceof SandboxError || error instanceof ServiceError)
    return error.hint === null ? error.message : `${error.message} ${error.hint}`
  if (error instanceof CannotRun || error instanceof AppDaemonError) return error.message
  if (error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return 'The disk of the server is full.'
  return 'Something went wrong on our side while the check was run; the log of the server says what.'
}
