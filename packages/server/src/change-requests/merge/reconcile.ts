import { fetchObjects, hasObjects, isAncestor, readTips, type Repository } from '@svc/git'
import { isHomeOf } from '../../db/home.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import type { Homed } from '../../projects/home-store.ts'
import { openRepository, unreachable } from '../../projects/repository.ts'
import { getProjectOrDeleted, type ProjectRow } from '../../projects/store.ts'
import { intendedAttempt, intendedBases, markAbandoned, type MergeAttempt } from './attempt-store.ts'
import { inTurn } from './lock.ts'
import { type Merged, type RecordDeps, recordMerge } from './record.ts'

export type ReconcileDeps = RecordDeps & Pick<Deps, 'locks' | 'config' | 'keyring' | 'log'>

/** Bases per pass; far more than are ever merged into at once. */
const basesMax = 1_000

/**
 * The job. Finishes merges that dead servers left between the intent and the row. A running merge holds the lock of
 * its base, so waiting for the lock skips live merges and finds the orphaned ones.
 */
export async function reconcileMerges(deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  for (const base of await intendedBases(deps.db, basesMax)) {
    if (signal.aborted) return
    try {
      const project = await getProjectOrDeleted(deps.db, base.project_id)
      if (project === null || !isHomeOf(deps.home, project)) continue
      await inTurn(deps, base, () => requireReconciled(deps, project, base.base_ref))
    } catch (error) {
      // One unreachable repository must not hold up the others; the next pass or merge retries.
      deps.log.warn({ err: error, ...base }, 'failed to reconcile a merge; retrying')
    }
  }
}

/** Reconciles the open attempt on a base, if there is one. Throws when the repository does not answer. The caller holds the lock of the base. */
export async function requireReconciled(
  deps: ReconcileDeps,
  project: ProjectRow,
  baseRef: string,
): Promise<'reconciled' | 'nothing'> {
  const attempt = await intendedAttempt(deps.db, { project_id: project.project_id, base_ref: baseRef })
  if (attempt === null) return 'nothing'
  const repository = await openRepository(deps, project)
  const reconciled = await reconcileAttempt(deps, repository, { attempt, project })
  if (reconciled.kind === 'unknown') throw unreachable(reconciled.reason)
  return 'reconciled'
}

type Fate = { kind: 'landed' } | { kind: 'absent' } | { kind: 'unknown'; reason: string }
export type ReconciledAttempt = { kind: 'landed'; merged: Merged } | Exclude<Fate, { kind: 'landed' }>

/** Reads the branch and records the outcome of an attempt: it landed, or it did not and nothing changed. */
export async function reconcileAttempt(
  deps: RecordDeps & Pick<Deps, 'log'>,
  repository: Repository,
  { attempt, project }: { attempt: MergeAttempt; project: Homed },
): Promise<ReconciledAttempt> {
  await failpoint('reconcile.before_poll')
  const fate = await fateOf(repository, attempt)
  await failpoint('reconcile.after_poll')
  const { attempt_id, cr_id, project_id, result_sha } = attempt
  deps.log.info({ attempt_id, cr_id, project_id, result_sha, fate: fate.kind }, 'reconciled an open merge attempt')
  switch (fate.kind) {
    case 'landed':
      return { kind: 'landed', merged: await recordMerge(deps, repository, { attempt, project }) }
    case 'absent':
      await markAbandoned(deps.db, attempt_id, 'It is not on the branch.', deps.now())
      return fate
    case 'unknown':
      return fate
    default:
      return fate satisfies never
  }
}

async function fateOf(repository: Repository, attempt: MergeAttempt): Promise<Fate> {
  const { base_ref, base_sha, result_sha } = attempt
  const outcome = await readTips(repository, [base_ref])
  if (outcome.kind === 'unreachable') return { kind: 'unknown', reason: outcome.reason }
  const tip = outcome.tips.get(base_ref)
  // Check the result first: a merge with nothing to do has the base itself as its result.
  if (tip === result_sha) return { kind: 'landed' }
  if (tip === undefined || tip === base_sha) return { kind: 'absent' }
  // Another push moved the branch, on top of our result or instead of it.
  const fetched = await fetchObjects(repository, [tip])
  if (fetched.kind === 'unreachable') return { kind: 'unknown', reason: fetched.reason }
  if (fetched.kind === 'missing') return { kind: 'unknown', reason: 'its branch moves faster than it can be read' }
  return (await contains(repository, { tip, sha: result_sha })) ? { kind: 'landed' } : { kind: 'absent' }
}

/** Whether a branch whose tip is present contains a commit we made. A commit that is not present cannot be part of it. */
export async function contains(repository: Repository, input: { tip: string; sha: string }): Promise<boolean> {
  return (await hasObjects(repository, [input.sha])) && (await isAncestor(repository, input.sha, input.tip))
}
