/** Computes the facts of open change requests that a list showed without them. */
import { readTips } from '@svc/git'
import pLimit from 'p-limit'
import type { Deps } from '../../deps.ts'
import { wakeEventReaders } from '../../events/store.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { saveTips, tipsIn } from '../open/refresh-tips.ts'
import { type ChangeRequestRow, getChangeRequests } from '../store.ts'
import { checkChangeRequest, compareWithNeighbors } from './check.ts'
import { factsAreKnown, factsFailed, wantedFacts } from './facts-store.ts'

type WantedDeps = Pick<Deps, 'config' | 'db' | 'home' | 'keyring' | 'log' | 'now'>

const batchMax = 100
const projectsAtOnce = 4

/** The job. `again` when there may be more. */
export async function computeWantedFacts(deps: WantedDeps, signal: AbortSignal): Promise<'again' | null> {
  const wanted = await wantedFacts(deps.db, { limit: batchMax, home: deps.home })
  const ofProject = Map.groupBy(wanted, ({ project_id }) => project_id)
  await pLimit(projectsAtOnce).map([...ofProject], async ([projectId, of]) => {
    const ids = of.map(({ cr_id }) => cr_id)
    await computeIn(deps, projectId, ids, signal).catch(async (error: unknown) => {
      if (signal.aborted) return
      deps.log.debug({ err: error, project_id: projectId }, 'failed to check change requests; readers ask again')
      await factsFailed(deps.db, ids)
    })
    await wakeEventReaders(deps.db, projectId)
  })
  return wanted.length === batchMax ? 'again' : null
}

async function computeIn(deps: WantedDeps, projectId: string, ids: string[], signal: AbortSignal): Promise<void> {
  const project = await getProject(deps.db, projectId)
  if (project === null) return factsAreKnown(deps.db, ids)
  const repository = await openRepository(deps, project)
  const pairs = (await currentRows(deps, project, ids, signal)).flatMap((cr) => {
    const { base_commit_sha: base, head_commit_sha: head } = cr
    const isDefault = cr.base_ref === project.default_branch
    return cr.status !== 'open' || base === null || head === null ? [] : [{ cr, base, head, isDefault }]
  })
  const missing = new Set<string>()
  for (const pair of pairs) {
    signal.throwIfAborted()
    if (!(await checkChangeRequest(deps, repository, pair, signal))) missing.add(pair.cr.cr_id)
  }
  // Only now are the facts of all of them there to compare.
  for (const pair of pairs) {
    signal.throwIfAborted()
    if (!missing.has(pair.cr.cr_id)) await compareWithNeighbors(deps, repository, pair, signal)
  }
  await factsFailed(deps.db, [...missing])
  await factsAreKnown(
    deps.db,
    ids.filter((id) => !missing.has(id)),
  )
}

/** With live tips; a deleted branch leaves the last known pair. */
async function currentRows(
  deps: WantedDeps,
  project: ProjectRow,
  ids: string[],
  signal: AbortSignal,
): Promise<ChangeRequestRow[]> {
  const rows = await getChangeRequests(deps.db, project.project_id, ids)
  const branches = [...new Set(rows.flatMap(({ base_ref, head_ref }) => [base_ref, head_ref]))]
  const outcome = await readTips(await openRepository(deps, project), branches, { signal })
  if (outcome.kind === 'unreachable') throw new Error(outcome.reason)
  const fresh = new Map((await saveTips(deps, project, tipsIn(rows, outcome.tips))).map((row) => [row.cr_id, row]))
  return rows.map((row) => fresh.get(row.cr_id) ?? row)
}
