/** Works out what merging open change requests would make of the files: the trees that their checks run on. */
import { replayMerge } from '@svc/git'
import type { Deps } from '../deps.ts'
import { bring } from '../projects/bring.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import {
  cancelUnwanted,
  missingRuns,
  recordTree,
  type TreeRow,
  type Unlooked,
  unlookedChangeRequests,
  wantRun,
} from './store.ts'

export type TreeDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'newId' | 'log'>

const looksAtOnce = 4
const looksMax = 40
const queuedMax = 500
const retrySeconds = 20

/** The job: trees of what moved, runs for what has none, and an end to what nobody wants any more. */
export async function noticeChecks(deps: TreeDeps, signal: AbortSignal): Promise<void> {
  const due = await unlookedChangeRequests(deps.db, { limit: looksMax, retrySeconds })
  await Promise.all(
    Array.from({ length: looksAtOnce }, async () => {
      for (let next = due.shift(); next !== undefined && !signal.aborted; next = due.shift()) {
        const { cr_id } = next
        await lookAt(deps, next, signal).catch((error: unknown) => {
          if (!signal.aborted) deps.log.warn({ err: error, cr_id }, 'what a merge would give could not be worked out')
        })
      }
    }),
  )
  await bringRuns(deps)
}

/** Rows for what is wanted; the keeper runs them. */
export async function bringRuns(deps: Pick<Deps, 'db' | 'newId'>): Promise<void> {
  for (const run of await missingRuns(deps.db, queuedMax)) await wantRun(deps.db, { run_id: deps.newId(), ...run })
  await cancelUnwanted(deps.db)
}

async function lookAt(deps: TreeDeps, due: Unlooked, signal: AbortSignal): Promise<void> {
  const project = await getProject(deps.db, due.project_id)
  if (project === null) return
  const { cr_id, project_id, base_sha, head_sha } = due
  const found = await treeOfMerge(deps, project, due, signal).catch((error: unknown) => {
    if (signal.aborted) throw error
    deps.log.debug({ err: error, cr_id }, 'a merge could not be worked out; it is tried again')
    return { kind: 'unavailable' as const, tree_sha: null, reason: reasons.unavailable }
  })
  await recordTree(deps.db, { cr_id, project_id, base_sha, head_sha, ...found })
}

type Found = Pick<TreeRow, 'kind' | 'tree_sha' | 'reason'>

const reasons = {
  conflicted: 'It conflicts with its base, so there is no merge result to check. Resolve the conflicts and push.',
  'up-to-date': 'The base holds all of it already: a merge changes nothing, so there is nothing to check.',
  unavailable: 'The repository does not hand out its commits now. It is tried again.',
}

async function treeOfMerge(
  deps: TreeDeps,
  project: ProjectRow,
  { base_sha: baseSha, head_sha: headSha }: Unlooked,
  signal: AbortSignal,
): Promise<Found> {
  const repository = await openRepository(deps, project)
  const none = (kind: keyof typeof reasons): Found => ({ kind, tree_sha: null, reason: reasons[kind] })
  if ((await bring(repository, [baseSha, headSha], signal)).kind !== 'present') return none('unavailable')
  // Its objects are thrown away: most trees are seen once, and what is run is made again then.
  const replayed = await replayMerge(repository, { baseSha, headSha, ...ofChecks }, { signal })
  if (replayed.kind === 'up-to-date' || replayed.kind === 'conflicted') return none(replayed.kind)
  return replayed.tree === null ? none('unavailable') : { kind: 'tree', tree_sha: replayed.tree, reason: null }
}

/** Nobody sees the commit; the same pair always gives the same one. */
export const ofChecks = { message: 'Merge to be checked', date: new Date(0) }
