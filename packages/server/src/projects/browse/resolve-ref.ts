import { ServiceError } from '@svc/contract'
import { isContained, isSha, readTips, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { fetchForRequest } from '../mirrors/fetch-for-request.ts'
import { openRepository, unreachable } from '../repository.ts'
import type { ProjectRow } from '../store.ts'

export type BrowseDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'log'>

/** A ref as requested, and its current commit. */
export interface Resolved {
  ref: string
  sha: string
}

/** The live tips of branches, read once per request and used to resolve everything in it. */
export async function openTips(
  deps: BrowseDeps,
  project: ProjectRow,
  { branches, signal }: { branches: string[] | 'all'; signal: AbortSignal },
): Promise<{ repository: Repository; tips: Map<string, string> }> {
  const repository = await openRepository(deps, project)
  const outcome = await readTips(repository, branches, { signal })
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  return { repository, tips: outcome.tips }
}

/** Branches first: one may be named like a commit. After this only full ids reach git, and their objects are present. */
export async function resolveRefs(
  deps: BrowseDeps,
  input: { project: ProjectRow; refs: string[]; signal: AbortSignal },
): Promise<{ repository: Repository; resolved: Resolved[] }> {
  const { refs, signal } = input
  // Whether a commit is on a branch depends on all of them, of which there may be a hundred thousand.
  const branches = refs.some(isSha) ? 'all' : refs
  const { repository, tips } = await openTips(deps, input.project, { branches, signal })
  const resolved: Resolved[] = []
  for (const ref of refs) {
    const sha = tips.get(ref) ?? (await findCommit(repository, { sha: ref, tips: [...tips.values()], signal }))
    if (sha === null)
      throw new ServiceError(
        'ref_not_found',
        `There is no branch ${JSON.stringify(ref)}, and no branch contains such a commit.`,
        {
          hint: 'Name a branch, or the full id of a commit that a branch contains.',
          detail: { ref },
        },
      )
    resolved.push({ ref, sha })
  }
  await fetchAll(
    repository,
    resolved.map(({ sha }) => sha),
    signal,
  )
  return { repository, resolved }
}

/** Finds only commits that a branch contains: commits that the service keeps for itself, or that were removed from every branch, are not readable by their id. */
async function findCommit(
  repository: Repository,
  { sha, tips, signal }: { sha: string; tips: string[]; signal: AbortSignal },
): Promise<string | null> {
  if (!isSha(sha)) return null
  if (tips.includes(sha)) return sha
  await fetchAll(repository, tips, signal)
  return (await isContained(repository, { sha, tips }, { signal })) ? sha : null
}

async function fetchAll(repository: Repository, shas: string[], signal: AbortSignal): Promise<void> {
  const fetched = await fetchForRequest(repository, shas, signal)
  if (fetched.kind === 'unreachable') throw unreachable(fetched.reason)
  if (fetched.kind === 'missing')
    throw new ServiceError('repository_unreachable', 'The repository does not serve the commits of its branches.', {
      hint: 'The branches may have just moved: try again.',
      detail: { missing: fetched.shas },
    })
}
