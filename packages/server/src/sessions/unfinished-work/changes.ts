/**
 * What a session changed since it left its base: the branch, and on top of it the work that is not pushed. A running
 * session saves that soon after each tool call of the agent, so this reads the newest save instead of the sandbox.
 */
import type { SessionChanges } from '@svc/contract'
import { type Diff, diffCommits, hasObjects, type Repository } from '@svc/git'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinLimits } from '../../projects/within-limits.ts'
import { redactorOfPrompts } from '../../secrets/redactor-for.ts'
import type { SessionWithSandbox } from '../store.ts'
import { wipOf } from './store.ts'
import { branchesNow, recount } from './unpushed.ts'
import { storeOf } from './wip.ts'

/** A save takes longer only in a large work tree or in a sandbox that does not answer. */
const staleMsMax = 2_000

type ChangesDeps = Pick<Deps, 'config' | 'db' | 'sessions' | 'keyring' | 'log' | 'redaction'>

interface Wanted {
  project: ProjectRow
  session: SessionWithSandbox
  caller: Caller
  includePatch: boolean
  signal: AbortSignal
}

export async function readChanges(deps: ChangesDeps, wanted: Wanted): Promise<SessionChanges> {
  const { project, session, caller, includePatch, signal } = wanted
  const stale = (await deps.sessions.wipOf(session.session_id)?.whyStale(staleMsMax)) ?? null
  const store = storeOf(deps, project)
  const saved = await savedOf(deps, session)
  const branches = await branchesNow(deps, store, project, [session])
  const tip = branches.get(session.branch_name)
  // The base may have been merged and deleted since.
  const baseSha = branches.get(session.base_ref) ?? branches.get(project.default_branch)
  const work = saved !== null && (await hasObjects(store, [saved.commit_sha])) ? saved : null
  const headSha = work?.commit_sha ?? tip
  const notes = [...(work?.notes ?? []), ...(stale === null ? [] : [stale])]
  const unpushedCommits = work === null ? 0 : await recount(store, { ...session, ...work }, { project, branches })
  const facts = { saved_at: work?.saved_at ?? null, notes, unpushed_commits: unpushedCommits }
  if (headSha === undefined || baseSha === undefined || !(await hasObjects(store, [headSha, baseSha])))
    return { ...none, ...facts, head: headSha ?? null }
  const diff = await withinLimits(diffCommits(store, { baseSha, headSha, renames: true }, { signal }))
  const unpushed = await unpushedPaths(store, { tip, work, diff, signal })
  const redactor = await redactorOfPrompts(deps, project, { sessionId: session.session_id, caller })
  return {
    ...facts,
    base: diff.merge_base,
    head: headSha,
    files: diff.files.slice(0, filesMax).map((file) => ({
      ...file,
      path: redactor.text(file.path),
      old_path: file.old_path === null ? null : redactor.text(file.old_path),
      is_pushed: !unpushed.has(file.path),
    })),
    files_changed: diff.files_changed,
    additions: diff.additions,
    deletions: diff.deletions,
    truncated: diff.truncated || diff.files.length > filesMax,
    ...(includePatch ? { patch: redactedPatch(diff.patch, redactor) } : {}),
  }
}

const filesMax = 2_000

const none = { base: null, files: [], files_changed: 0, additions: 0, deletions: 0, truncated: false }

/** Work of an earlier start is not in the work tree of a running session. */
export async function savedOf(deps: Pick<Deps, 'db'>, { session_id, status, generation }: SessionWithSandbox) {
  const pending = (await wipOf(deps.db, session_id)).filter((row) => row.recovered_at === null)
  return pending.find((row) => status !== 'running' || row.generation === generation) ?? null
}

/** The files whose content is not on the branch. */
async function unpushedPaths(
  store: Repository,
  input: { tip: string | undefined; work: { commit_sha: string } | null; diff: Diff; signal: AbortSignal },
): Promise<Set<string>> {
  const { tip, work, diff, signal } = input
  if (work === null) return new Set()
  if (tip === undefined || !(await hasObjects(store, [tip]))) return new Set(diff.files.map(({ path }) => path))
  const pair = { baseSha: tip, headSha: work.commit_sha }
  const { files } = await withinLimits(diffCommits(store, pair, { signal }))
  return new Set(files.map(({ path }) => path))
}

/** The number of lines stays, so that the hunks of the patch still add up. */
function redactedPatch(patch: string, redactor: { text: (text: string) => string }): string {
  const whole = redactor.text(patch)
  if (whole.split('\n').length === patch.split('\n').length) return whole
  return patch
    .split('\n')
    .map((line) => redactor.text(line))
    .join('\n')
}
