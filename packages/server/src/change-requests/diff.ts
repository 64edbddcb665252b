import type { ChangeRequestDiff } from '@svc/contract'
import { diffCommits, streamPatch } from '@svc/git'
import { accepts } from '../http/request-info.ts'
import type { ProjectRow } from '../projects/store.ts'
import { commitPair, type PairDeps } from './commit-pair.ts'
import { requireChangeRequest } from './store.ts'
import { withinLimits } from '../projects/within-limits.ts'

export interface DiffChangeRequest {
  project: ProjectRow
  crId: string
  renames: boolean
  /** The Accept header: `text/x-diff` asks for the patch alone, of any size, as a stream. */
  accept: string | null
  signal: AbortSignal
}

export async function diffChangeRequest(
  deps: PairDeps,
  input: DiffChangeRequest,
): Promise<ChangeRequestDiff | Response> {
  const { project, renames, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  const { repository, baseSha, headSha } = await commitPair(deps, { project, cr, signal })
  if (accepts(input.accept, 'text/x-diff'))
    return new Response(await streamPatch(repository, { baseSha, headSha, renames }, { signal }), {
      headers: {
        'content-type': 'text/x-diff; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
    })
  const diff = await withinLimits(diffCommits(repository, { baseSha, headSha, renames }, { signal }))
  return { cr_id: cr.cr_id, base_ref: cr.base_ref, head_ref: cr.head_ref, ...diff }
}
