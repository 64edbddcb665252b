import { ServiceError } from '@svc/contract'
import { GitError, hasObjects, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import { bring } from '../projects/bring.ts'
import { managedDir, mirrorDir, openRepository, unreachable } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'
import { answerOf } from '../projects/within-limits.ts'
import { refMissing } from './ref-missing.ts'
import { saveTips } from './refresh-tips.ts'
import type { ChangeRequestRow } from './store.ts'

export type PairDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'redaction' | 'now'>

/** The two commits that a diff or preview is of, and a repository that has both. */
export interface CommitPair {
  repository: Repository
  baseSha: string
  headSha: string
}

export async function commitPair(
  deps: PairDeps,
  input: { project: ProjectRow; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<CommitPair> {
  return input.cr.status === 'merged' ? keptPair(deps, input) : livePair(deps, input)
}

/** As it was merged, from our own store: neither the branch nor the host has to be there any more. */
async function keptPair(
  deps: PairDeps,
  { project, cr, signal }: { project: ProjectRow; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<CommitPair> {
  const stored = storedPair(cr)
  const dir = project.managed ? managedDir(deps, project.project_id) : mirrorDir(deps, project.project_id)
  const kept: Repository = { dir, remote: null }
  if (await hasObjects(kept, [stored.baseSha, stored.headSha])) {
    const answer = answerOf(signal)
    if (answer !== undefined) answer.late = null
    return { repository: kept, ...stored }
  }
  // A mirror that was lost: the host may still have them.
  const repository = await openRepository(deps, project)
  await requireObjects(repository, { cr, pair: stored, signal })
  return { repository, ...stored }
}

/** Where the branches are now. When one is gone, where both were last seen. */
async function livePair(
  deps: PairDeps,
  { project, cr, signal }: { project: ProjectRow; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<CommitPair> {
  const repository = await openRepository(deps, project)
  const outcome = await readTips(repository, [cr.base_ref, cr.head_ref], { signal })
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  const [base, head] = [outcome.tips.get(cr.base_ref), outcome.tips.get(cr.head_ref)]
  const isLive = base !== undefined && head !== undefined
  if (isLive && cr.status === 'open') await saveTips(deps, project, [{ cr, base, head }])
  const pair = isLive ? { baseSha: base, headSha: head } : storedPair(cr)
  const gone = head === undefined ? cr.head_ref : base === undefined ? cr.base_ref : null
  await requireObjects(repository, { cr, pair, signal, gone })
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
    gone?: string | null
  },
): Promise<void> {
  const brought = await bring(repository, [input.pair.baseSha, input.pair.headSha], input.signal)
  switch (brought.kind) {
    case 'present':
      return
    case 'unreachable':
      throw unreachable(brought.reason)
    case 'missing':
      if (input.gone != null) throw refMissing(input.gone)
      throw notHandedOut(brought.shas)
    default:
      return brought satisfies never
  }
}

/** What our own store of a merged one cannot read any more, its host most likely has. */
export async function withHostsHelp<T>(
  deps: PairDeps,
  { project, repository }: { project: ProjectRow; repository: Repository },
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  return work(repository).catch(async (error: unknown) => {
    if (!(error instanceof GitError) || project.managed || repository.remote !== null) throw error
    return work(await openRepository(deps, project))
  })
}

export function notHandedOut(missing: string[]): ServiceError {
  return new ServiceError(
    'repository_unreachable',
    'The repository does not hand out the commits of this change request.',
    {
      hint: 'Its branches may have moved just now: try again. A repository that is a shallow clone itself lacks them for good.',
      detail: { missing },
    },
  )
}
