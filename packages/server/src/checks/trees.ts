/** Computes the merge results of open change requests: the trees that their checks run on. */
import { replayMerge } from '@svc/git'
import pLimit from 'p-limit'
import type { Deps } from '../deps.ts'
import { fetchForRequest } from '../projects/mirrors/fetch-for-request.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import {
  cancelUnwanted,
  missingRuns,
  recordTree,
  type TreeRow,
  type Unpolled,
  unpolledChangeRequests,
  wantRun,
} from './store.ts'

type TreeDeps = Pick<Deps, 'db' | 'home' | 'config' | 'keyring' | 'newId' | 'log'>

const pollsAtOnce = 4
const pollsMax = 40
const queuedMax = 500
const retrySeconds = 20

/**
 * The job: computes trees of moved change requests, creates missing runs and cancels unwanted ones, of these projects or of
 * all. `again` when there may be more.
 */
export async function detectChecks(
  deps: TreeDeps,
  signal: AbortSignal,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<number | 'again' | null> {
  const due = await unpolledChangeRequests(deps.db, { limit: pollsMax, retrySeconds, changed, home: deps.home })
  await pLimit(pollsAtOnce).map(due, async (each) => {
    if (signal.aborted) return
    await poll(deps, each, signal).catch((error: unknown) => {
      if (!signal.aborted) deps.log.warn({ err: error, cr_id: each.cr_id }, 'computing the tree of a merge failed')
    })
  })
  const missing = await missingRuns(deps.db, { limit: queuedMax, changed })
  for (const run of missing) await wantRun(deps.db, { run_id: deps.newId(), ...run })
  await cancelUnwanted(deps.db, changed)
  if (due.length === pollsMax || missing.length === queuedMax) return 'again'
  return due.length > 0 ? retrySeconds * 1000 : null
}

async function poll(deps: TreeDeps, due: Unpolled, signal: AbortSignal): Promise<void> {
  const project = await getProject(deps.db, due.project_id)
  if (project === null) return
  const { cr_id, project_id, base_sha, head_sha } = due
  const found = await treeOfMerge(deps, project, due, signal).catch((error: unknown) => {
    if (signal.aborted) throw error
    deps.log.debug({ err: error, cr_id }, 'computing a merge failed; retrying')
    return { kind: 'unavailable' as const, tree_sha: null, reason: reasons.unavailable }
  })
  await recordTree(deps.db, { cr_id, project_id, base_sha, head_sha, ...found })
}

type Found = Pick<TreeRow, 'kind' | 'tree_sha' | 'reason'>

const reasons = {
  conflicted:
    'The change request conflicts with its base, so there is no merge result to check. Resolve the conflicts and push.',
  'up-to-date': 'The base already contains all of its commits, so there is nothing to check.',
  unavailable: 'The repository cannot be read right now. The server retries.',
}

async function treeOfMerge(
  deps: TreeDeps,
  project: ProjectRow,
  { base_sha: baseSha, head_sha: headSha }: Unpolled,
  signal: AbortSignal,
): Promise<Found> {
  const repository = await openRepository(deps, project)
  const none = (kind: keyof typeof reasons): Found => ({ kind, tree_sha: null, reason: reasons[kind] })
  if ((await fetchForRequest(repository, [baseSha, headSha], signal)).kind !== 'present') return none('unavailable')
  // The objects are discarded: most trees are never run, and a run computes its merge again.
  const replayed = await replayMerge(repository, { baseSha, headSha, ...ofChecks }, { signal })
  if (replayed.kind === 'up-to-date' || replayed.kind === 'conflicted') return none(replayed.kind)
  return replayed.tree === null ? none('unavailable') : { kind: 'tree', tree_sha: replayed.tree, reason: null }
}

/** No branch points to the commit. The same base and head always result in the same commit. */
export const ofChecks = { message: 'Merge to be checked', date: new Date(0) }
