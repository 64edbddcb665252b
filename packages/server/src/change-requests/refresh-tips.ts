import { ServiceError } from '@svc/contract'
import { GitError, readTips, type TipsOutcome } from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { HostPatience } from '../config.ts'
import { readTogether } from '../db/read-together.ts'
import type { Deps } from '../deps.ts'
import { locatedRepository, locateRepository } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'
import { type ChangeRequestRow, type FoundTips, getChangeRequests, recordTips, requireChangeRequest } from './store.ts'
import { tellChangeRequest } from './tell.ts'

export type RefreshDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'log'>

type Branches = Pick<ChangeRequestRow, 'base_ref' | 'head_ref'>

/** The branches of change requests that were open when they were last read: those of one never change. */
const branchesOfOpen = new LRUCache<string, Branches>({ max: 20_000 })

/** undefined: it was not read here yet, or is not open any more. */
export function knownBranches(project: { project_id: string }, crId: string): Branches | undefined {
  return branchesOfOpen.get(`${project.project_id} ${crId}`)
}

/**
 * One as it is now. Many readers of it at the same time cost one look at its row, and where its branches are known the
 * repository is asked beside it. Each waits for the repository by itself: who joined a look that runs into the time limit
 * would wait for that one and for their own.
 */
export async function readChangeRequest(
  deps: RefreshDeps,
  project: ProjectRow,
  crId: string,
): Promise<ChangeRequestRow> {
  const key = `${project.project_id} ${crId}`
  const known = branchesOfOpen.get(key)
  const ahead = known && tipsUnlessAway(deps, project, [known.base_ref, known.head_ref])
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

/** A list of so many branches is long. */
const branchesOfLong = 500
/** Projects whose last list was that long. */
const long = new LRUCache<string, true>({ max: 1_000 })

/**
 * A list as it is now. A long one takes the database as long as its host, so where the last one was long both are asked
 * at once: the host for all its branches, which it answers no slower than so many names.
 */
export async function listWithTips<Page extends { rows: ChangeRequestRow[] }>(
  deps: RefreshDeps,
  project: ProjectRow,
  read: () => Promise<Page>,
): Promise<Page> {
  const ahead = long.has(project.project_id)
    ? tipsUnlessAway(deps, project, 'all', deps.config.hostPatience.aheadMs)
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

/**
 * Whether rows are as tips say that were asked for before the rows were there. They may hold what somebody saw after the
 * repository was asked: where they differ, only a later look is newer.
 */
function isSure(rows: ChangeRequestRow[], early: Map<string, string>): boolean {
  return movedIn(rows, early).length === 0
}

/** The rows with the tips their branches have now. One question to the repository, whatever the number of rows; one write, of those that moved. */
export async function refreshTips(
  deps: RefreshDeps,
  project: ProjectRow,
  rows: ChangeRequestRow[],
): Promise<ChangeRequestRow[]> {
  const branches = branchesOf(rows)
  if (branches.length === 0) return rows
  const tips = await tipsUnlessAway(deps, project, branches)
  if (tips === null) return rows
  const fresh = new Map((await saveTips(deps, project, movedIn(rows, tips))).map((row) => [row.cr_id, row]))
  return rows.map((row) => fresh.get(row.cr_id) ?? row)
}

const isOpen = (row: ChangeRequestRow) => row.status === 'open'

function branchesOf(rows: ChangeRequestRow[]): string[] {
  return [...new Set(rows.filter(isOpen).flatMap((row) => [row.base_ref, row.head_ref]))]
}

/** The open ones whose branches are elsewhere than is stored. A branch that is gone leaves the pair as it was last seen. */
function movedIn(rows: ChangeRequestRow[], tips: Map<string, string>): FoundTips[] {
  return rows.filter(isOpen).flatMap((cr) => {
    const [base, head] = [tips.get(cr.base_ref), tips.get(cr.head_ref)]
    if (base === undefined || head === undefined) return []
    return cr.base_commit_sha === base && cr.head_commit_sha === head ? [] : [{ cr, base, head }]
  })
}

/** Stores the tips that differ from the stored ones. Answers with those rows, as they are now and with these tips. */
export async function saveTips(
  deps: Pick<Deps, 'db' | 'now'>,
  project: ProjectRow,
  found: FoundTips[],
): Promise<ChangeRequestRow[]> {
  const moved = found.filter(({ cr, base, head }) => cr.base_commit_sha !== base || cr.head_commit_sha !== head)
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
      // What the other one stored may be older than this request; what this one saw is not.
      return row.status === 'open' && tips !== undefined
        ? { ...row, base_commit_sha: tips.base, head_commit_sha: tips.head }
        : row
    }),
  ]
}

/** A head that moved is told of; a base that moved is told once, for all of them, as the move of its branch. */
async function writeTips(deps: Pick<Deps, 'db' | 'now'>, moved: FoundTips[]): Promise<ChangeRequestRow[]> {
  return deps.db.transaction().execute(async (trx) => {
    const written = await recordTips(trx, moved, deps.now())
    for (const row of written)
      if (moved.find(({ cr }) => cr.cr_id === row.cr_id)?.cr.head_commit_sha !== row.head_commit_sha)
        await tellChangeRequest(trx, 'change_request.updated', row, null, { changed: ['head'] })
    return written
  })
}

/**
 * The deliberate silence of the service. A change request can be read while its repository is away, slow, refused or
 * broken: the tips as they were last seen are worth more than an error, and whoever needs the repository itself (diff,
 * preview, merge) is told the reason there. So this answers null and leaves a line for the operator.
 */
async function tipsUnlessAway(
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

const between = ({ msMin, ms }: HostPatience) => msMin + Math.round(Math.random() * (ms - msMin))

const skipped = 'tips were not refreshed: the repository is away'

async function readTipsWithin(
  deps: RefreshDeps,
  project: ProjectRow,
  branches: string[] | 'all',
  patienceMs: number,
): Promise<TipsOutcome> {
  const known = locatedRepository(deps, project)
  if (known !== null) return readTips(known, branches, { timeoutMs: patienceMs })
  // Where it is has to be found out, by names that are resolved and hosts that give access: all of it in the same time.
  const beganAt = performance.now()
  const located = await inTime(locateRepository(deps, project), patienceMs)
  if (located === null) return { kind: 'unreachable', reason: `not found within ${patienceMs} ms` }
  return readTips(located, branches, { timeoutMs: Math.max(1, patienceMs - (performance.now() - beganAt)) })
}

/** null: it did not come in time, and its end is of no interest any more. */
async function inTime<T>(coming: Promise<T>, ms: number): Promise<T | null> {
  const late = Promise.withResolvers<null>()
  const timer = setTimeout(() => late.resolve(null), ms)
  coming.catch(() => {})
  try {
    return await Promise.race([coming, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
