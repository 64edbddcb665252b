/** Marks change requests as merged that landed on the git host, where the host protects their base from the service. */
import { fetchObjects, isAncestor, readPullRequest, readTips, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject } from '../../projects/store.ts'
import { insertAttempt, lastRefusedAttempt } from './attempt-store.ts'
import { type HostLanding, nextLandingInMs, takeHostLandings } from './host-landing-store.ts'
import { inTurn } from './lock.ts'
import { pullRequestRemote } from './pull-request.ts'
import { recordMerge } from './record.ts'
import { requireReconciled, type ReconcileDeps } from './reconcile.ts'
import { type ChangeRequestRow, requireChangeRequest } from '../store.ts'

const everySeconds = 15
const landingsMax = 50

/** The job. A host that does not answer does not hold up the others. Returns in how many milliseconds a check is due. */
export async function followHostLandings(
  deps: ReconcileDeps & Pick<Deps, 'newId'>,
  signal: AbortSignal,
  every = everySeconds,
): Promise<number | null> {
  for (const landing of await takeHostLandings(deps.db, { everySeconds: every, limit: landingsMax, home: deps.home })) {
    if (signal.aborted) return null
    try {
      await follow(deps, landing)
    } catch (error) {
      const { cr_id } = landing
      deps.log.debug({ err: error, cr_id }, 'failed to check a landing on a git host; retrying')
    }
  }
  return nextLandingInMs(deps.db, deps.home)
}

async function follow(deps: ReconcileDeps & Pick<Deps, 'newId'>, landing: HostLanding): Promise<void> {
  const project = await getProject(deps.db, landing.project_id)
  if (project === null) return
  const { base_ref } = await requireChangeRequest(deps.db, landing.project_id, landing.cr_id)
  const repository = await openRepository(deps, project)
  await inTurn(deps, { project_id: landing.project_id, base_ref }, async () => {
    await requireReconciled(deps, project, base_ref)
    const cr = await requireChangeRequest(deps.db, landing.project_id, landing.cr_id)
    if (cr.status !== 'open') return
    const facts = await landedOnHost(deps, repository, cr, landing)
    if (facts === null) return
    const attempt = await insertAttempt(deps.db, {
      attempt_id: deps.newId(),
      cr_id: cr.cr_id,
      project_id: cr.project_id,
      base_ref,
      ...facts,
      kind: 'up-to-date',
      message: landing.number === null ? 'Merged on the git host' : `Merged on the git host by #${landing.number}`,
      commit_date: deps.now(),
      merged_by: landing.created_by,
      caller: landing.caller,
      idempotency_key: null,
      created_at: deps.now(),
    })
    if (attempt !== null) await recordMerge(deps, repository, { attempt, project, found: cr })
  })
}

/** The commits of the base decide, whatever the host's API reports. Null: not merged there yet. */
async function landedOnHost(deps: ReconcileDeps, repository: Repository, cr: ChangeRequestRow, landing: HostLanding) {
  const outcome = await readTips(repository, [cr.base_ref, cr.head_ref])
  if (outcome.kind === 'unreachable') return null
  const tip = outcome.tips.get(cr.base_ref)
  if (tip === undefined) return null
  const pulled = await mergedByPullRequest(repository, landing)
  // A merged pull request does not cover commits pushed to the head since.
  const headTip = outcome.tips.get(cr.head_ref)
  if (pulled !== null && (headTip === undefined || headTip === pulled.headSha)) {
    const base = pulled.baseSha ?? cr.base_commit_sha ?? tip
    const facts = { base_sha: base, head_sha: pulled.headSha, result_sha: pulled.mergeSha }
    const fetched = await fetchObjects(repository, [tip, ...Object.values(facts)])
    if (fetched.kind === 'present' && (await isAncestor(repository, pulled.mergeSha, tip))) return facts
  }
  const refused = await lastRefusedAttempt(deps.db, cr.cr_id)
  if (refused === null) return null
  // The refused head had commits of its own, so a base that contains it was merged since.
  const head = outcome.tips.get(cr.head_ref) ?? refused.head_sha
  const fetched = await fetchObjects(repository, [tip, head, refused.head_sha, refused.base_sha])
  if (fetched.kind !== 'present') return null
  for (const sha of [refused.head_sha, head]) if (!(await isAncestor(repository, sha, tip))) return null
  return { base_sha: refused.base_sha, head_sha: head, result_sha: tip }
}

async function mergedByPullRequest(repository: Repository, { number }: HostLanding) {
  const remote = pullRequestRemote(repository)
  if (number === null || remote === null) return null
  const outcome = await readPullRequest(remote, number)
  if (outcome.kind !== 'found') return null
  const { state, baseSha, headSha, mergeSha } = outcome.pull
  return state === 'merged' && headSha !== null && mergeSha !== null ? { baseSha, headSha, mergeSha } : null
}
