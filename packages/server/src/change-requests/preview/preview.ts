import type { MergePreview, PreviewPart } from '@svc/contract'
import { previewMerge } from '@svc/git'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinLimits } from '../../projects/within-limits.ts'
import { collisionsOf } from './collisions.ts'
import { commitPair, type PairDeps, withHostsHelp } from './commit-pair.ts'
import { effectsOf } from '../effects/effects.ts'
import { requireChangeRequest } from '../store.ts'

/** For a merged one, the state right before the merge. */
export async function previewChangeRequest(
  deps: PairDeps & Pick<Deps, 'log'>,
  input: {
    project: ProjectRow
    caller: Pick<Caller, 'actor'>
    crId: string
    include: PreviewPart[]
    signal: AbortSignal
  },
): Promise<MergePreview> {
  const { project, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  const pair = await commitPair(deps, { project, cr, signal })
  const { repository, baseSha, headSha } = pair
  const preview = await withHostsHelp(deps, { project, pair }, (repo) =>
    withinLimits(previewMerge(repo, { baseSha, headSha }, { signal })),
  )
  const asks = (part: PreviewPart) => input.include.includes(part)
  const mergeBase = preview.merge_base
  return {
    ...preview,
    ...(asks('collisions') ? await collisionsOf(deps, { project, cr, pair, signal }) : {}),
    ...(asks('effects')
      ? {
          effects: await effectsOf(deps, {
            project,
            caller: input.caller,
            baseRef: cr.base_ref,
            baseSha,
            repository,
            mergeBase,
            headSha,
            signal,
          }),
        }
      : {}),
  }
}
