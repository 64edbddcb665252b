/** Makes the sandbox of a check and sends it the files and the command. Throws with the reason. */
import type { AppSpec } from '@svc/contract'
import { planMerge, type Repository, treeOf } from '@svc/git'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { fetchForRequest } from '../projects/mirrors/fetch-for-request.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { quotasOf } from '../projects/quotas.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import type { EgressInForce } from '../sandboxes/in-force.ts'
import type { WorkloadDaemon } from '../sandboxes/workload-daemon.ts'
import { PermanentFailure } from '../sandboxes/failure-reason.ts'
import { makeWorkloadSandbox, sendFiles, type WorkloadDeps } from '../sandboxes/workload-sandbox.ts'
import { pairsOfTree, type RunRow } from './store.ts'
import { ofChecks } from './trees.ts'

export class CheckCancelled extends Error {}

export async function makeCheckSandbox(
  deps: WorkloadDeps,
  driver: SandboxDriver,
  input: { run: RunRow; sandboxId: string },
  signal: AbortSignal,
): Promise<{ daemon: WorkloadDaemon; inForce: EgressInForce }> {
  const { run, sandboxId } = input
  const project = await getProject(deps.db, run.project_id)
  const branch = await getDefaultBranch(deps.db, run.project_id)
  if (project === null || branch?.sha == null) throw new PermanentFailure('The project of this check was deleted.')
  const repository = await openRepository(deps, project)
  const commit = await commitOfTree(deps, repository, run, signal)
  const { project_id: projectId } = project
  // Limits, hosts and image come from the default branch: the checked code does not choose its own isolation.
  const isolation = { commit: branch.sha, settings: branch.manifest.sandbox }
  const sandbox = { kind: 'check', sandboxId, projectId, repository, ...isolation } as const
  const daemon = await makeWorkloadSandbox(deps, driver, sandbox, signal)
  await failpoint('check.after_sandbox')
  const spec: AppSpec = {
    slug: run.name,
    commit: run.tree_sha,
    build: run.command,
    command: null,
    static_dir: null,
    port: 0,
    env: {},
    build_ms_max: deps.config.checks.minutesMax * 60_000,
    start_ms_max: 0,
  }
  const { appArchiveBytes: bytesMax } = quotasOf(deps.config, project)
  await sendFiles(daemon, spec, { repository, commit, bytesMax }, signal)
  await failpoint('check.after_files')
  return { daemon, inForce: { egress: isolation.settings.egress ?? null } }
}

/** A commit with this tree: the head for a fast-forward, otherwise a merge commit that no branch points to. */
async function commitOfTree(deps: Pick<Deps, 'db'>, repository: Repository, run: RunRow, signal: AbortSignal) {
  for (const { base_sha: baseSha, head_sha: headSha } of await pairsOfTree(deps.db, run)) {
    const fetched = await fetchForRequest(repository, [baseSha, headSha], signal)
    if (fetched.kind === 'unreachable')
      throw new PermanentFailure(`The repository cannot be reached: ${fetched.reason} Rerun the check later.`)
    if (fetched.kind !== 'present') continue
    const plan = await planMerge(repository, { baseSha, headSha, ...ofChecks }, { signal })
    if (plan.kind === 'unverified') throw new PermanentFailure(plan.reason)
    if (plan.kind !== 'merge-commit' && plan.kind !== 'fast-forward') continue
    if ((await treeOf(repository, plan.resultSha)) === run.tree_sha) return plan.resultSha
  }
  throw new CheckCancelled('No open change request has this merge result any more.')
}
