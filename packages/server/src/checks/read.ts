/** The current checks of one change request. */
import type { ChangeRequestChecks, Check, ManifestCheck } from '@svc/contract'
import { notFound } from '../auth/allow.ts'
import type { ChangeRequestRow } from '../change-requests/store.ts'
import { type RefreshDeps, readChangeRequest } from '../change-requests/open/refresh-tips.ts'
import type { Deps } from '../deps.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import type { ProjectRow } from '../projects/store.ts'
import { lastLines } from './log-store.ts'
import { getTree, type RunRow, runsOfTree, type TreeRow } from './store.ts'

export async function checksOf(deps: RefreshDeps, project: ProjectRow, crId: string): Promise<ChangeRequestChecks> {
  const cr = await readChangeRequest(deps, project, crId)
  const tree = await getTree(deps.db, cr.cr_id)
  const branch = await getDefaultBranch(deps.db, project.project_id)
  const defined = branch?.manifest.checks ?? []
  const runs = tree?.tree_sha == null ? [] : await runsOfTree(deps.db, project.project_id, tree.tree_sha)
  return cr.status === 'open' ? openChecks(cr, defined, tree, runs) : endedChecks(cr, tree, runs)
}

/** The checks that the default branch defines. Results of other trees do not count. */
function openChecks(
  cr: ChangeRequestRow,
  defined: ManifestCheck[],
  tree: TreeRow | null,
  runs: RunRow[],
): ChangeRequestChecks {
  const pair = { base_sha: cr.base_commit_sha, head_sha: cr.head_commit_sha }
  if (defined.length === 0) return { state: 'none', reason: null, ...pair, tree_sha: null, checks: [] }
  const isCurrent = tree !== null && tree.base_sha === pair.base_sha && tree.head_sha === pair.head_sha
  if (isCurrent && tree.kind !== 'tree')
    return { state: 'not_run', reason: tree.reason, ...pair, tree_sha: null, checks: [] }
  const checks = defined.map((entry) => {
    const run = runs.find(({ name, command }) => name === entry.name && command === entry.command)
    return isCurrent && run !== undefined ? presentRun(run) : waiting(entry)
  })
  return { state: stateOf(checks), reason: null, ...pair, tree_sha: isCurrent ? tree.tree_sha : null, checks }
}

function endedChecks(cr: ChangeRequestRow, tree: TreeRow | null, runs: RunRow[]): ChangeRequestChecks {
  const checks = runs.filter(({ status }) => status !== 'queued' && status !== 'running').map(presentRun)
  const pair = { base_sha: tree?.base_sha ?? cr.base_commit_sha, head_sha: tree?.head_sha ?? cr.head_commit_sha }
  if (tree === null) return { state: 'none', reason: null, ...pair, tree_sha: null, checks: [] }
  const reason =
    tree.reason ?? (checks.length === 0 ? `The change request was ${cr.status} before a check ended.` : null)
  return { state: stateOf(checks), reason, ...pair, tree_sha: tree.tree_sha, checks }
}

function stateOf(checks: Check[]): ChangeRequestChecks['state'] {
  const are = (...statuses: Check['status'][]) => checks.some(({ status }) => statuses.includes(status))
  if (are('queued', 'running')) return 'running'
  if (are('failed', 'error')) return 'failed'
  return are('passed') && !are('cancelled') ? 'passed' : 'not_run'
}

function presentRun(run: RunRow): Check {
  const { name, command, status, run_id, attempt, exit_code, reason, created_at, started_at, ended_at } = run
  return { name, command, status, run_id, attempt, exit_code, reason, created_at, started_at, ended_at }
}

const waiting = ({ name, command }: ManifestCheck): Check => {
  const times = { created_at: null, started_at: null, ended_at: null }
  return { name, command, status: 'queued', run_id: null, attempt: 1, exit_code: null, reason: null, ...times }
}

/** With the newest lines of the checks that did not pass. */
export async function checksWithLogs(deps: RefreshDeps, project: ProjectRow, cr: ChangeRequestRow, lines: number) {
  const found = await checksOf(deps, project, cr.cr_id)
  const bad = found.checks.filter(({ status }) => status === 'failed' || status === 'error')
  const logs = await Promise.all(
    bad.map(async ({ name, run_id: runId }) => ({
      name,
      lines: runId === null ? [] : (await readCheckLog(deps, { cr, runId, lines })).lines.map(({ text }) => text),
    })),
  )
  return { ...found, logs }
}

export async function readCheckLog(
  deps: Pick<Deps, 'db'>,
  input: { cr: ChangeRequestRow; runId: string; lines: number },
) {
  const tree = await getTree(deps.db, input.cr.cr_id)
  const runs = tree?.tree_sha == null ? [] : await runsOfTree(deps.db, input.cr.project_id, tree.tree_sha)
  const run = runs.find(({ run_id }) => run_id === input.runId)
  if (run === undefined) throw notFound('run of a check')
  return { check: presentRun(run), ...(await lastLines(deps.db, run, input.lines)) }
}
