import { ServiceError } from '@svc/contract'
import { createBranch, readTips, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps, recordMissing } from '../../projects/acknowledge.ts'
import type { Homed } from '../../projects/home-store.ts'
import { unreachable } from '../../projects/repository.ts'

export async function baseTip(repository: Repository, baseRef: string): Promise<string> {
  const tips = await readTips(repository, [baseRef], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(baseRef)
  if (sha === undefined) {
    const all = await readTips(repository, 'all', {})
    const isEmpty = all.kind === 'tips' && all.tips.size === 0
    throw new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(baseRef)}.`, {
      hint: isEmpty
        ? 'Push a first commit to it, for example with `svc ship` or `git push`.'
        : 'Push that branch first, or name another with base_ref.',
      detail: { ref: baseRef, issues: [{ path: 'base_ref', message: 'does not exist' }] },
    })
  }
  return sha
}

type BranchDeps = AcknowledgeDeps & Pick<Deps, 'log'>

interface OfProject {
  project: Homed
  repository: Repository
}

/** Creates the branch of a session unless it exists. An existing branch may hold work, so it stays unchanged. */
export async function ensureSessionBranch(
  deps: BranchDeps,
  { project, repository }: OfProject,
  session: { branch_name: string; base_ref: string; start_sha: string | null },
): Promise<void> {
  const tips = await readTips(repository, [session.branch_name], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  if (tips.tips.has(session.branch_name)) {
    // An earlier try may have made it without a record.
    if (repository.remote === null) await recordMissing(deps, { project, store: repository })
    return
  }
  const sha = session.start_sha ?? (await baseTip(repository, session.base_ref))
  await cutSessionBranch(deps, { project, repository }, { branch: session.branch_name, sha })
}

export async function cutSessionBranch(
  deps: BranchDeps,
  { project, repository }: OfProject,
  cut: { branch: string; sha: string },
): Promise<void> {
  if (repository.remote === null) await deps.replicas.send(project, repository, [cut.sha])
  const outcome = await createBranch(repository, cut)
  const refs = [{ ref: `refs/heads/${cut.branch}`, old: null }]
  if (repository.remote === null && outcome.kind === 'created')
    await acknowledge(deps, { project, store: repository, refs }, async () => {})
  switch (outcome.kind) {
    case 'created':
    case 'exists':
      // The push is slower than the API, and the operator may fix it with more token scopes.
      if (outcome.apiRemark !== undefined)
        deps.log.info(
          { branch: cut.branch, reason: outcome.apiRemark },
          'a session branch was pushed instead of created through the API',
        )
      return
    case 'rejected':
      throw new ServiceError('repository_refused', `The repository refused the session branch: ${outcome.reason}`, {
        hint: 'Allow the credential of this project to create branches.',
      })
    case 'unreachable':
      throw unreachable(outcome.reason)
    default:
      return outcome satisfies never
  }
}
