import { ServiceError } from '@svc/contract'
import { isContained, isSha, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import { bring } from './bring.ts'
import { openRepository, unreachable } from './repository.ts'
import type { ProjectRow } from './store.ts'

export type BrowseDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'log'>

/** A ref as it was asked for, and the commit it is now. */
export interface Resolved {
  ref: string
  sha: string
}

/** The live tips of branches, asked once, by which everything in one request is resolved. */
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

/** Branches first: one may be named like a commit. After this nothing but full ids reaches git, and their objects are here. */
export async function resolveRefs(
  deps: BrowseDeps,
  input: { project: ProjectRow; refs: string[]; signal: AbortSignal },
): Promise<{ repository: Repository; resolved: Resolved[] }> {
  const { refs, signal } = input
  // Whether a commit is on a branch only all of them tell, of which there may be a hundred thousand.
  const branches = refs.some(isSha) ? 'all' : refs
  const { repository, tips } = await openTips(deps, input.project, { branches, signal })
  const resolved: Resolved[] = []
  for (const ref of refs) {
    const sha = tips.get(ref) ?? (await findCommit(repository, { sha: ref, tips: [...tips.values()], signal }))
    if (sha === null)
      throw new ServiceError('ref_not_found', `There is no branch ${JSON.stringify(ref)}, and no commit of one.`, {
        hint: 'Name a branch, or the full id of a commit that a branch contains.',
        detail: { ref },
      })
    resolved.push({ ref, sha })
  }
  await bringAll(
    repository,
    resolved.map(({ sha }) => sha),
    signal,
  )
  return { repository, resolved }
}

/** Only what a branch contains: commits the service keeps for itself, or that were taken off every branch, are nobody's to read by their id. */
async function findCommit(
  repository: Repository,
  { sha, tips, signal }: { sha: string; tips: string[]; signal: AbortSignal },
): Promise<string | null> {
  if (!isSha(sha)) return null
  if (tips.includes(sha)) return sha
  await bringAll(repository, tips, signal)
  return (await isContained(repository, { sha, tips }, { signal })) ? sha : null
}

async function bringAll(repository: Repository, shas: string[], signal: AbortSignal): Promise<void> {
  const brought = await bring(repository, shas, signal)
  if (brought.kind === 'unreachable') throw unreachable(brought.reason)
  if (brought.kind === 'missing')
    throw new ServiceError('repository_unreachable', 'The repository does not hand out the commits of its branches.', {
      hint: 'They may have moved just now: try again.',
      detail: { missing: brought.shas },
    })
}
