import { ServiceError } from '@svc/contract'
import { createBranch, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import { unreachable } from '../projects/repository.ts'

/** Live tip of the base of a new session. */
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

/** Makes sure the session branch is there. A branch that exists is left as it is: it may hold work already. */
export async function ensureSessionBranch(
  deps: Pick<Deps, 'log'>,
  repository: Repository,
  session: { branch_name: string; base_ref: string },
): Promise<void> {
  const tips = await readTips(repository, [session.branch_name], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  if (tips.tips.has(session.branch_name)) return
  const sha = await baseTip(repository, session.base_ref)
  await cutSessionBranch(deps, repository, { branch: session.branch_name, sha })
}

export async function cutSessionBranch(
  deps: Pick<Deps, 'log'>,
  repository: Repository,
  cut: { branch: string; sha: string },
): Promise<void> {
  const outcome = await createBranch(repository, cut)
  switch (outcome.kind) {
    case 'created':
    case 'exists':
      // Slower, and maybe a token whose scopes could be better: the operator's to know, nobody's to wait for.
      if (outcome.apiRemark !== undefined)
        deps.log.info({ branch: cut.branch, reason: outcome.apiRemark }, 'the branch was pushed, not made by API')
      return
    case 'rejected':
      throw new ServiceError('repository_refused', `The repository refused the session branch: ${outcome.reason}`, {
        hint: 'The credential of this project has to be allowed to create branches.',
      })
    case 'unreachable':
      throw unreachable(outcome.reason)
    default:
      return outcome satisfies never
  }
}
