/** From a run's row to a sandbox that has the files and runs the command. Throws with the reason. */
import type { AppSpec } from '@svc/contract'
import { planMerge, type Repository, treeOf } from '@svc/git'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { bring } from '../projects/bring.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { quotasOf } from '../projects/quotas.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import type { AppDaemon } from '../sessions/app-daemon.ts'
import { type ApartDeps, CannotBe, makeSandboxApart, reasonApart, sendFiles } from '../sessions/sandbox-apart.ts'
import { pairsOfTree, type RunRow } from './store.ts'
import { ofChecks } from './trees.ts'

/** It cannot be run, and trying again by itself changes nothing. */
export class CannotRun extends CannotBe {}

/** The branches moved on meanwhile: whoever wants it again has it run again. */
export class NotWanted extends Error {}

export async function makeCheck(
  deps: ApartDeps,
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
  // Limits, hosts and image are those of the default branch: what is being checked does not choose its own walls.
  const walls = { commit: branch.sha, settings: branch.manifest.sandbox }
  const { project_id: projectId } = project
  const apart = { kind: 'check', sandboxId, projectId, repository, ...walls } as const
  const daemon = await makeSandboxApart(deps, driver, apart, signal)
  await failpoint('check.after_sandbox')
  const spec: AppSpec = {
    ...{ slug: run.name, commit: run.tree_sha, build: run.command, command: null, static_dir: null, port: 0, env: {} },
    ...{ build_ms_max: deps.config.checks.minutesMax * 60_000, start_ms_max: 0 },
  }
  const { appArchiveBytes: bytesMax } = quotasOf(deps.config, project)
  await sendFiles(daemon, spec, { repository, commit, bytesMax }, signal)
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

/** The sentence a run shows for why it could not be run. */
export function reasonOf(error: unknown): string {
  return reasonApart(error, 'the check was run')
}
