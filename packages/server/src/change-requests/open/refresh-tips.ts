import { ServiceError } from '@svc/contract'
import { GitError, readTips, type TipsOutcome } from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../config.ts'
import { readTogether } from '../../db/read-together.ts'
import { withDeadline } from '../../deadline.ts'
import type { Deps } from '../../deps.ts'
import { locatedRepository, locateRepository } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import {
  type ChangeRequestRow,
  type FoundTips,
  getChangeRequests,
  recordTips,
  requireChangeRequest,
  tipsToStore,
} from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'

export type RefreshDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'log'>

type Branches = Pick<ChangeRequestRow, 'base_ref' | 'head_ref'>

/** Branches of change requests that were open when last read. A change request's branches never change. */
const branchesOfOpen = new LRUCache<string, Branches>({ max: 20_000 })

/**
 * Reads one change request with live tips. Concurrent readers share one read of the row, and when its branches are
 * known the repository is polled in parallel. Each reader waits for the repository on its own: joining a poll that
 * runs into its time limit would add that wait to one's own.
 */
export async function readChangeRequest(deps: RefreshDeps, project: ProjectRow, crId: string) {
  const key = `${project.project_id} ${crId}`
  const known = branchesOfOpen.get(key)
  const ahead = known && tipsIfReachable(deps, project, [known.base_ref, known.head_ref])
  const found = await readTogether(deps.db, `change request ${key}`, () =>
    requireChangeRequest(deps.db, project.project_id, crId),
  )
  if (!isOpen(found)) {
    branchesOfOpen.delete(key)
    return found
  }
  const { base_ref, head_ref } = found
  if (known === undefined) branchesOfOpen.set(key, { base_ref, head_ref })
  const early = await ahead
  if (early === null || (early !== undefined && isSure([found], early))) return found
  return (await refreshTips(deps, project, [found]))[0] ?? found
}

/** Lists with this many branches count as long. */
const branchesOfLong = 500
/** Projects whose last list was long. */
const long = new LRUCache<string, true>({ max: 1_000 })

/**
 * Lists with live tips. A long list takes the database as long as the host takes, so when the last list was long both
 * run at once. The host is then asked for all branches, which takes it no longer than that many names.
 */
export async function listWithTips<Page extends { rows: ChangeRequestRow[] }>(
  deps: RefreshDeps,
  project: ProjectRow,
  read: () => Promise<Page>,
): Promise<Page> {
  const ahead = long.has(project.project_id)
    ? tipsIfReachable(deps, project, 'all', deps.config.hostPatience.aheadMs)
    : null
  const page = await read()
  const branches = branchesOf(page.rows)
  if (branches.length >= branchesOfLong && !project.managed) long.set(project.project_id, true)
  else long.delete(project.project_id)
  if (branches.length === 0) return page
  const early = await ahead
  if (early !== null && isSure(page.rows, early)) return page
  return { ...page, rows: await refreshTips(deps, project, page.rows) }
}

/** Whether the rows agree with tips that were read before them. Rows may hold newer tips than the poll; where they differ, only a later poll decides. */
function isSure(rows: ChangeRequestRow[], early: Map<string, string>): boolean {
  return !tipsIn(rows, early).some(hasMoved)
}

/** Adds the live tips to the rows: one request to the repository for all of them, and one write for those that moved. */
export async function refreshTips(deps: RefreshDeps, project: ProjectRow, rows: ChangeRequestRow[]) {
  const branches = branchesOf(rows)
  if (branches.length === 0) return rows
  const tips = await tipsIfReachable(deps, project, branches)
  if (tips === null) return rows
  const fresh = new Map((await saveTips(deps, project, tipsIn(rows, tips))).map((row) => [row.cr_id, row]))
  return rows.map((row) => fresh.get(row.cr_id) ?? row)
}

const isOpen = (row: ChangeRequestRow) => row.status === 'open'

function branchesOf(rows: ChangeRequestRow[]): string[] {
  return [...new Set(rows.filter(isOpen).flatMap((row) => [row.base_ref, row.head_ref]))]
}

/** The open rows with their branches. */
export function tipsIn(rows: ChangeRequestRow[], tips: Map<string, string>): FoundTips[] {
  return rows.filter(isOpen).map((cr) => ({ cr, base: tips.get(cr.base_ref), head: tips.get(cr.head_ref) }))
}

/** Whether the branches differ from what is stored. */
function hasMoved(found: FoundTips): boolean {
  const { base_commit_sha, head_commit_sha, missing_ref } = tipsToStore(found)
  const { cr } = found
  return (
    cr.base_commit_sha !== base_commit_sha || cr.head_commit_sha !== head_commit_sha || cr.missing_ref !== missing_ref
  )
}

/** Stores tips that differ and returns those rows with their new tips. */
export async function saveTips(
  deps: Pick<Deps, 'db' | 'now'>,
  project: ProjectRow,
  found: FoundTips[],
): Promise<ChangeRequestRow[]> {
  const moved = found.filter(hasMoved)
  if (moved.length === 0) return []
  const written = await writeTips(deps, moved)
  const isWritten = new Set(written.map((row) => row.cr_id))
  const overtaken = moved.filter(({ cr }) => !isWritten.has(cr.cr_id))
  if (overtaken.length === 0) return written
  const now = await getChangeRequests(
    deps.db,
    project.project_id,
    overtaken.map(({ cr }) => cr.cr_id),
  )
  return [
    ...written,
    ...now.map((row) => {
      const tips = overtaken.find(({ cr }) => cr.cr_id === row.cr_id)
      // Another reader may have stored tips older than this request. The tips of this request are newer.
      return row.status === 'open' && tips !== undefined ? { ...row, ...tipsToStore(tips) } : row
    }),
  ]
}

/** Each moved head gets an event, and each branch that went or came back. A moved base gets a single event, for its branch. */
async function writeTips(deps: Pick<Deps, 'db' | 'now'>, moved: FoundTips[]): Promise<ChangeRequestRow[]> {
  return deps.db.transaction().execute(async (trx) => {
    const written = await recordTips(trx, moved, deps.now())
    const before = new Map(moved.map(({ cr }) => [cr.cr_id, cr]))
    for (const row of written) {
      const { head_commit_sha, missing_ref } = before.get(row.cr_id)!
      if (head_commit_sha !== row.head_commit_sha || missing_ref !== row.missing_ref)
        await recordChangeRequestEvent(trx, 'change_request.updated', row, null, { changed: ['head'] })
    }
    return written
  })
}

/**
 * Deliberately silent. A change request stays readable while its repository is unreachable, slow, refused or broken:
 * the last known tips are worth more than an error, and diff, preview and merge report the reason. So this returns
 * null and logs a line for the operator.
 */
async function tipsIfReachable(
  deps: RefreshDeps,
  project: ProjectRow,
  branches: string[] | 'all',
  patienceMs = between(deps.config.hostPatience),
): Promise<Map<string, string> | null> {
  try {
    const outcome = await readTipsWithin(deps, project, branches, patienceMs)
    if (outcome.kind === 'tips') return outcome.tips
    deps.log.debug({ project_id: project.project_id, reason: outcome.reason }, skipped)
  } catch (error) {
    const isAway = error instanceof ServiceError || error instanceof GitError
    deps.log[isAway ? 'debug' : 'warn']({ project_id: project.project_id, err: error }, skipped)
  }
  return null
}

const between = ({ msMin, ms }: Config['hostPatience']) => msMin + Math.round(Math.random() * (ms - msMin))

const skipped = 'tips were not refreshed: the repository is unreachable'

async function readTipsWithin(
  deps: RefreshDeps,
  project: ProjectRow,
  branches: string[] | 'all',
  patienceMs: number,
): Promise<TipsOutcome> {
  const known = locatedRepository(deps, project)
  if (known !== null) return readTips(known, branches, { timeoutMs: patienceMs })
  // Resolving names and getting access from the host count against the same time limit.
  const beganAt = performance.now()
  const located = await withDeadline(locateRepository(deps, project), patienceMs, () => null)
  if (located === null) return { kind: 'unreachable', reason: `not found within ${patienceMs} ms` }
  return readTips(located, branches, { timeoutMs: Math.max(1, patienceMs - (performance.now() - beganAt)) })
}
