/** Detects moved default branches, moved branches of open change requests, and which of them stopped being clean. */
import { readTips } from '@svc/git'
import pLimit from 'p-limit'
import type { Deps } from '../../deps.ts'
import { type FirstAccount, firstAccountOf } from '../../accounts/store.ts'
import { detectDefaultBranch } from '../../projects/default-branch.ts'
import { nextPollInMs, type PolledProject, takeDuePolls, takeRequestedPolls } from '../../projects/poll-store.ts'
import { locateRepository, openRepository } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { checkChangeRequest } from './check.ts'
import { type OpenPair, openPairs, uncheckedOf } from './check-store.ts'
import { saveTips, tipsIn } from '../open/refresh-tips.ts'
import { listChangeRequests } from '../list/list-store.ts'

type DetectDeps = Pick<Deps, 'db' | 'home' | 'config' | 'keyring' | 'now' | 'log'>

/** Each poll costs a request to a git host, but the host can call a webhook instead. */
const externalSeconds = 20
/** Reading an older change request still refreshes it. */
const watchedMax = 200
const atOnce = 8
/** A few, so that hosts that do not answer delay others by no more than a minute. */
const batchMax = 50

/** The job: polls repositories after a push, a merge or the call of a git host. `again` when there may be more. */
export async function pollRequested(deps: DetectDeps, signal: AbortSignal): Promise<'again' | null> {
  const projects = await takeRequestedPolls(deps.db, { externalSeconds, limit: batchMax, home: deps.home })
  await pollAll(deps, projects, signal)
  return projects.length === batchMax ? 'again' : null
}

/** The job: polls repositories on git hosts in batches. Returns in how many milliseconds the next one is due. */
export async function pollExternal(deps: DetectDeps, signal: AbortSignal): Promise<number | null> {
  await pollAll(deps, await takeDuePolls(deps.db, { externalSeconds, limit: batchMax, home: deps.home }), signal)
  return nextPollInMs(deps.db, deps.home)
}

/** A few queries for all of them, and more only for those that moved. */
async function pollAll(deps: DetectDeps, projects: PolledProject[], signal: AbortSignal): Promise<void> {
  const firstAccount = firstAccountOf(deps.db)
  const ids = projects.map(({ project_id }) => project_id)
  const pairs = Map.groupBy(await openPairs(deps.db, ids, watchedMax), ({ project_id }) => project_id)
  await pLimit(atOnce).map(projects, async (project) => {
    if (signal.aborted) return
    const { project_id } = project
    const pairsOfProject = pairs.get(project_id) ?? []
    await poll(deps, project, { pairs: pairsOfProject, firstAccount, signal }).catch((error: unknown) => {
      if (!signal.aborted) deps.log.debug({ err: error, project_id }, 'failed to poll a repository; retrying')
    })
  })
}

async function poll(
  deps: DetectDeps,
  project: PolledProject,
  { pairs, firstAccount, signal }: { pairs: OpenPair[]; firstAccount: FirstAccount; signal: AbortSignal },
): Promise<void> {
  const { project_id, default_branch: branch } = project
  const repository = await locateRepository(deps, project, firstAccount)
  const refs = new Set([branch, ...pairs.flatMap(({ base_ref, head_ref }) => [base_ref, head_ref])])
  const outcome = await readTips(repository, [...refs], { signal })
  if (outcome.kind === 'unreachable')
    return deps.log.debug({ project_id, reason: outcome.reason }, 'failed to poll a repository; retrying')
  const { tips } = outcome
  if (project.known_branch !== branch || project.known_sha !== (tips.get(branch) ?? null))
    await detectDefaultBranch(deps, project, signal)
  const hasNews = pairs.some((pair) => {
    const [base, head] = [tips.get(pair.base_ref), tips.get(pair.head_ref)]
    const missing = head === undefined ? pair.head_ref : base === undefined ? pair.base_ref : null
    if (missing !== null || pair.missing_ref !== null) return pair.missing_ref !== missing
    return !pair.is_checked || base !== pair.base_commit_sha || head !== pair.head_commit_sha
  })
  if (hasNews) await noticeIn(deps, project, tips, signal)
}

async function noticeIn(
  deps: DetectDeps,
  project: ProjectRow,
  tips: Map<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const { rows } = await listChangeRequests(deps.db, project.project_id, { status: 'open', limit: watchedMax })
  const found = tipsIn(rows, tips)
  await saveTips(deps, project, found)
  const pairs = found.flatMap(({ cr, base, head }) =>
    base === undefined || head === undefined
      ? []
      : [{ cr, base, head, isDefault: cr.base_ref === project.default_branch }],
  )
  const repository = await openRepository(deps, project)
  for (const pair of await uncheckedOf(deps.db, pairs)) {
    if (signal.aborted) return
    await checkChangeRequest(deps, repository, pair, signal)
  }
}
