import { bringObjects, hasObjects, isAncestor, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { openRepository, unreachable } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { intendedAttempt, intendedBases, markAbandoned, type MergeAttempt } from './attempts.ts'
import { inTurn } from './merge-lock.ts'
import { type Merged, recordMerge } from './record-merge.ts'

export type SettleDeps = Pick<Deps, 'db' | 'locks' | 'localLocks' | 'config' | 'keyring' | 'now' | 'log'>

/** What one pass looks at: more than that many bases are never being merged into at once. */
const basesMax = 1_000

/**
 * A job: finishes what servers that are gone left between the intent and the row. Whoever merges holds the lock of the
 * base, so waiting for it waits for the living and finds the attempts of the dead.
 */
export async function settleMerges(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  for (const base of await intendedBases(deps.db, basesMax)) {
    if (signal.aborted) return
    try {
      const project = await getProject(deps.db, base.project_id)
      if (project === null) continue
      await inTurn(deps, base, () => requireSettled(deps, project, base.base_ref))
    } catch (error) {
      // One repository that is away must not keep the others waiting; the next pass or the next merge asks again.
      deps.log.warn({ err: error, ...base }, 'a merge could not be settled yet')
    }
  }
}

/** Settles the open attempt on a base, if there is one. Throws when the repository does not tell. The caller holds the lock of the base. */
export async function requireSettled(
  deps: SettleDeps,
  project: ProjectRow,
  baseRef: string,
): Promise<'settled' | 'nothing'> {
  const attempt = await intendedAttempt(deps.db, { project_id: project.project_id, base_ref: baseRef })
  if (attempt === null) return 'nothing'
  const repository = await openRepository(deps, project)
  const settled = await settle(deps, repository, attempt)
  if (settled.kind === 'unknown') throw unreachable(settled.reason)
  return 'settled'
}

type Fate = { kind: 'landed' } | { kind: 'absent' } | { kind: 'unknown'; reason: string }
export type Settled = { kind: 'landed'; merged: Merged } | Exclude<Fate, { kind: 'landed' }>

/** Reads the branch and writes down what it says about an attempt: it landed, or it did not and nothing changed. */
export async function settle(
  deps: Pick<Deps, 'db' | 'now' | 'log'>,
  repository: Repository,
  attempt: MergeAttempt,
): Promise<Settled> {
  await failpoint('settle.before_look')
  const fate = await fateOf(repository, attempt)
  await failpoint('settle.after_look')
  const { attempt_id, cr_id, project_id, result_sha } = attempt
  deps.log.info({ attempt_id, cr_id, project_id, result_sha, fate: fate.kind }, 'an open merge attempt was looked up')
  switch (fate.kind) {
    case 'landed':
      return { kind: 'landed', merged: await recordMerge(deps, repository, attempt) }
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
  // The result first: a merge that had nothing to do has the base itself as its result.
  if (tip === result_sha) return { kind: 'landed' }
  if (tip === undefined || tip === base_sha) return { kind: 'absent' }
  // Somebody pushed since, onto our result or instead of it.
  const brought = await bringObjects(repository, [tip])
  if (brought.kind === 'unreachable') return { kind: 'unknown', reason: brought.reason }
  if (brought.kind === 'missing') return { kind: 'unknown', reason: 'its branch moves too fast to be looked at' }
  return (await contains(repository, { tip, sha: result_sha })) ? { kind: 'landed' } : { kind: 'absent' }
}

/** Whether a commit we made is part of a branch whose tip is here. One that is not here cannot be. */
export async function contains(repository: Repository, input: { tip: string; sha: string }): Promise<boolean> {
  return (await hasObjects(repository, [input.sha])) && (await isAncestor(repository, input.sha, input.tip))
}
