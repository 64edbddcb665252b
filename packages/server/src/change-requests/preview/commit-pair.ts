import { ServiceError } from '@svc/contract'
import { GitError, hasObjects, lostObjects, readTips, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { managedDir, mirrorDir, openRepository, unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { answerOf } from '../../projects/within-limits.ts'
import { refMissing } from '../refusals.ts'
import { saveTips } from '../open/refresh-tips.ts'
import type { ChangeRequestRow } from '../store.ts'

export type PairDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'redaction' | 'now'>

/** The two commits of a diff or preview, and a repository that has both. */
export interface CommitPair {
  repository: Repository
  baseSha: string
  headSha: string
}

export async function commitPair(
  deps: PairDeps,
  input: { project: ProjectRow; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<CommitPair> {
  return input.cr.status === 'merged' ? mergedPair(deps, input) : livePair(deps, input)
}

/** As merged, from our own store: neither the branch nor the host has to exist any more. */
async function mergedPair(
  deps: PairDeps,
  { project, cr, signal }: { project: ProjectRow; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<CommitPair> {
  const stored = storedPair(cr)
  const dir = project.managed ? managedDir(deps, project.project_id) : mirrorDir(deps, project.project_id)
  const ours: Repository = { dir, remote: null }
  if (await hasObjects(ours, [stored.baseSha, stored.headSha])) {
    const answer = answerOf(signal)
    if (answer !== undefined) answer.late = null
    return { repository: ours, ...stored }
  }
  if (cr.merge_lost_server !== null) throw commitsLost(cr.merge_lost_server)
  // The mirror was lost, but the host may still have them.
  const repository = await openRepository(deps, project)
  await requireObjects(repository, { cr, pair: stored, signal })
  return { repository, ...stored }
}

/** Where the branches are now. If one is deleted, where both were last seen. */
async function livePair(
  deps: PairDeps,
  { project, cr, signal }: { project: ProjectRow; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<CommitPair> {
  const repository = await openRepository(deps, project)
  const outcome = await readTips(repository, [cr.base_ref, cr.head_ref], { signal })
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  const [base, head] = [outcome.tips.get(cr.base_ref), outcome.tips.get(cr.head_ref)]
  const isLive = base !== undefined && head !== undefined
  if (cr.status === 'open') await saveTips(deps, project, [{ cr, base, head }])
  const pair = isLive ? { baseSha: base, headSha: head } : storedPair(cr)
  const deleted = head === undefined ? cr.head_ref : base === undefined ? cr.base_ref : null
  await requireObjects(repository, { cr, pair, signal, deleted })
  return { repository, ...pair }
}

function storedPair(cr: ChangeRequestRow): { baseSha: string; headSha: string } {
  if (cr.base_commit_sha === null) throw refMissing(cr.base_ref)
  if (cr.head_commit_sha === null) throw refMissing(cr.head_ref)
  return { baseSha: cr.base_commit_sha, headSha: cr.head_commit_sha }
}

async function requireObjects(
  repository: Repository,
  input: {
    cr: ChangeRequestRow
    pair: { baseSha: string; headSha: string }
    signal: AbortSignal
    deleted?: string | null
  },
): Promise<void> {
  const fetched = await fetchForRequest(repository, [input.pair.baseSha, input.pair.headSha], input.signal)
  switch (fetched.kind) {
    case 'present':
      return
    case 'unreachable':
      throw unreachable(fetched.reason)
    case 'missing':
      if (input.deleted != null) throw refMissing(input.deleted)
      throw commitsNotServed(fetched.shas)
    default:
      return fetched satisfies never
  }
}

/** Falls back to the host when our store cannot read a merged change request any more. */
export async function withHostsHelp<T>(
  deps: PairDeps,
  { project, pair }: { project: ProjectRow; pair: CommitPair },
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  const { repository } = pair
  return unlessLost(pair, work(repository)).catch(async (error: unknown) => {
    if (!(error instanceof GitError) || project.managed || repository.remote !== null) throw error
    return work(await openRepository(deps, project))
  })
}

/** Says so when git fails because a repository of ours, which no host completes, has lost one of the commits. */
export function unlessLost<T>({ repository, baseSha, headSha }: CommitPair, work: Promise<T>): Promise<T> {
  return work.catch(async (error: unknown) => {
    if (!(error instanceof GitError) || repository.remote !== null) throw error
    const missing = await lostObjects(repository, [baseSha, headSha])
    if (missing.length === 0) throw error
    throw new ServiceError('ref_not_found', 'The repository has lost commits of this change request.', {
      hint: 'Push its branches again from a clone, or ask the operator to run svc self-host check.',
      detail: { missing },
      cause: error,
    })
  })
}

function commitsLost(server: string): ServiceError {
  return new ServiceError(
    'ref_not_found',
    `Commits of this change request were lost with its merge, when ${server} was taken over.`,
    { hint: 'If its head branch is still there, a new change request of it shows the changes.' },
  )
}

export function commitsNotServed(missing: string[]): ServiceError {
  return new ServiceError(
    'repository_unreachable',
    'The repository does not serve the commits of this change request.',
    {
      hint: 'Its branches may have just moved: try again. A shallow clone never has them.',
      detail: { missing },
    },
  )
}
