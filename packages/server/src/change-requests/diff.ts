import { type ChangeRequestDiff, ServiceError } from '@svc/contract'
import { diffCommits, hasObjects, isAncestor, type Repository, streamPatch } from '@svc/git'
import { accepts } from '../http/request-info.ts'
import type { ProjectRow } from '../projects/store.ts'
import { commitPair, type PairDeps, withHostsHelp } from './commit-pair.ts'
import { requireChangeRequest } from './store.ts'
import { withinLimits } from '../projects/within-limits.ts'

export interface DiffChangeRequest {
  project: ProjectRow
  crId: string
  renames: boolean
  ignoreWhitespace: boolean
  /** A commit of the head branch to start from instead of the base. */
  since: string | null
  /** The Accept header: `text/x-diff` asks for the patch alone, of any size, as a stream. */
  accept: string | null
  signal: AbortSignal
}

export async function diffChangeRequest(
  deps: PairDeps,
  input: DiffChangeRequest,
): Promise<ChangeRequestDiff | Response> {
  const { project, renames, ignoreWhitespace, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  const { repository, headSha, ...pair } = await commitPair(deps, { project, cr, signal })
  const baseSha = input.since ?? pair.baseSha
  if (input.since !== null) await requireAncestor(repository, { since: input.since, headSha, signal })
  const pairToCompare = { baseSha, headSha, renames, ignoreWhitespace }
  if (accepts(input.accept, 'text/x-diff'))
    return new Response(await withinLimits(streamPatch(repository, pairToCompare, { signal })), {
      headers: {
        'content-type': 'text/x-diff; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
    })
  const of = (repo: Repository) => withinLimits(diffCommits(repo, pairToCompare, { signal }))
  const { whitespace_only, ...diff } = await withHostsHelp(deps, { project, repository }, of)
  const leftOut = ignoreWhitespace ? { whitespace_only } : {}
  return { cr_id: cr.cr_id, base_ref: cr.base_ref, head_ref: cr.head_ref, ...diff, ...leftOut }
}

/** Only what the head branch itself holds: any other commit of the repository is not this change request's to show. */
async function requireAncestor(
  repository: Repository,
  { since, headSha, signal }: { since: string; headSha: string; signal: AbortSignal },
): Promise<void> {
  const isThere = await hasObjects(repository, [since])
  if (isThere && (await isAncestor(repository, since, headSha, { signal }))) return
  throw new ServiceError('invalid', 'That commit is not part of the head branch.', {
    hint: 'The branch may have been rewritten since. Leave `since` out to see all of the change.',
    detail: { issues: [{ path: 'since', message: 'is not an ancestor of the head' }] },
  })
}
