/** Where a session continues that is branched from a message of another one: its commit, its unfinished work, its conversation. */
import { ServiceError } from '@svc/contract'
import { changedFiles, countBeyond, hasObjects, mergeBase, type Repository } from '@svc/git'
import type { Caller } from '../../auth/actor.ts'
import { refuseOtherSession } from '../../auth/session-control.ts'
import type { Deps } from '../../deps.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { newestMessageOf, turnWith } from '../conversation/turn-store.ts'
import { requireSession, type SessionWithSandbox } from '../store.ts'
import { savedOf } from '../unfinished-work/changes.ts'
import type { WorkTree } from '../unfinished-work/save-outcome.ts'
import { wipOf } from '../unfinished-work/store.ts'
import { turnSnapshotsOf } from '../unfinished-work/turn-snapshot-store.ts'
import { branchesNow } from '../unfinished-work/unpushed.ts'
import { storeOf } from '../unfinished-work/wip.ts'

type ContinueDeps = Pick<Deps, 'config' | 'db' | 'sessions' | 'keyring' | 'log'>

export interface Continued {
  session: SessionWithSandbox
  /** The last message that the new session knows; null when there is none. */
  messageId: string | null
  /** Where the new branch begins: the newest commit of that time which is pushed. */
  startSha: string
  /** What the work tree had besides, for `session_wip`; null when everything was pushed. */
  work: CarriedWork | null
}

export interface CarriedWork {
  commit_sha: string
  base_sha: string
  files: number
  paths: string[]
  unpushed_commits: number
}

interface Wanted {
  project: ProjectRow
  caller: Caller
  repository: Repository
  from: { session_id: string; message_id?: string | undefined }
}

/** A save takes longer only in a large work tree or in a sandbox that does not answer. */
const saveMsMax = 10_000
const fetchMsMax = 8_000
const pathsMax = 100

export async function findContinued(deps: ContinueDeps, wanted: Wanted): Promise<Continued> {
  const { project, caller, from } = wanted
  const session = await requireSession(deps.db, project.project_id, from.session_id)
  refuseOtherSession(caller.actor, session)
  const store = storeOf(deps, project)
  const branches = await branchesNow(deps, store, project, [session])
  const { messageId, has } =
    from.message_id === undefined
      ? { messageId: await newestMessageOf(deps.db, session.session_id), has: await hasNow(deps, session, branches) }
      : await hadAfter(deps, session, { messageId: from.message_id, branches })
  await requireCommit(wanted.repository, store, has)
  const startSha = await pushedPart(store, has, { session, project, branches })
  return { session, messageId, startSha, work: await carried(store, has, startSha) }
}

/** Saves a running session first. */
async function hasNow(
  deps: ContinueDeps,
  session: SessionWithSandbox,
  branches: Map<string, string>,
): Promise<WorkTree> {
  // Without a new save, the last one counts, as for all readers of unfinished work.
  await deps.sessions.wipOf(session.session_id)?.saveNow(saveMsMax)
  return newestOf(deps, session, branches)
}

/** The saved work of the session, or of an earlier start of it, or else its branch. */
async function newestOf(
  deps: Pick<Deps, 'db'>,
  session: SessionWithSandbox,
  branches: Map<string, string>,
  generation = session.generation,
): Promise<WorkTree> {
  const saved =
    generation === session.generation
      ? await savedOf(deps, session)
      : ((await wipOf(deps.db, session.session_id)).find((row) => row.generation === generation) ?? null)
  const tip = branches.get(session.branch_name)
  if (saved !== null) return { commit: saved.commit_sha, base: saved.base_sha ?? saved.commit_sha }
  if (tip !== undefined) return { commit: tip, base: tip }
  throw new ServiceError('unprocessable', 'That session has no saved work, and its branch is gone.', {
    hint: 'Start a new session without `from`.',
    detail: { issues: [{ path: 'from.session_id', message: 'has no code to continue from' }] },
  })
}

async function hadAfter(
  deps: ContinueDeps,
  session: SessionWithSandbox,
  at: { messageId: string; branches: Map<string, string> },
): Promise<{ messageId: string; has: WorkTree }> {
  const turn = await turnWith(deps.db, session.session_id, at.messageId)
  if (turn === null)
    throw new ServiceError('not_found', 'That session has no such message.', {
      hint: 'Its messages are in `svc sessions log <id> --json`. Without a message, the new session continues from the newest one.',
      detail: { issues: [{ path: 'from.message_id', message: 'is no message of that session' }] },
    })
  const stale = (await deps.sessions.wipOf(session.session_id)?.whyStale(saveMsMax)) ?? null
  const rows = await turnSnapshotsOf(deps.db, session.session_id, turn.until)
  const row = rows.toSorted((a, b) => turn.until.indexOf(a.message_id) - turn.until.indexOf(b.message_id)).at(-1)
  const isOpen = turn.isNewest && session.is_busy
  if (isOpen && (row === undefined || !turn.isAnswered))
    throw new ServiceError('conflict', 'The agent is still working on this turn.', {
      hint: 'Wait until it ends, or continue from an earlier message.',
    })
  if (row !== undefined) return { messageId: turn.last, has: { commit: row.commit_sha, base: row.base_sha } }
  if (turn.isNewest && turn.generation === session.generation) refuseUnsaved(session, stale)
  // Nothing followed, so the work is what is saved of that start of the session.
  if (turn.isNewest) return { messageId: turn.last, has: await newestOf(deps, session, at.branches, turn.generation) }
  throw notKept()
}

/** The last save is older than the turn, which a caller who names the turn has to know. */
function refuseUnsaved({ unkept_work }: SessionWithSandbox, stale: string | null): void {
  const anyway = 'Without a message, the new session continues from the last save.'
  if (stale !== null)
    throw new ServiceError('unavailable', 'The code as it was after this message is not saved yet.', {
      hint: `Try again in a moment. ${anyway}`,
    })
  if (unkept_work !== null)
    throw new ServiceError('unprocessable', 'The code as it was after this message was not saved.', {
      hint: anyway,
      detail: { issues: [{ path: 'from.message_id', message: 'has no saved code' }] },
    })
}

function notKept(): ServiceError {
  return new ServiceError('unprocessable', 'The code as it was after this message is not saved any more.', {
    hint: 'Unpushed work is kept for seven days. Continue from a newer message, or from the session as it is now.',
    detail: { issues: [{ path: 'from.message_id', message: 'has no saved code' }] },
  })
}

async function requireCommit(repository: Repository, store: Repository, { commit, base }: WorkTree): Promise<void> {
  if (await hasObjects(store, [commit, base])) return
  // A pushed commit may be missing from a mirror that was emptied. No git host has a snapshot.
  if (commit !== base || repository.remote === null) throw notKept()
  const fetched = await fetchForRequest(repository, [commit], AbortSignal.timeout(fetchMsMax))
  if (fetched.kind !== 'present') throw notKept()
}

/** The newest commit below the work that is on the session's branch, or else on its base or the default branch. */
async function pushedPart(
  store: Repository,
  { base }: WorkTree,
  of: { session: SessionWithSandbox; project: ProjectRow; branches: Map<string, string> },
): Promise<string> {
  const { session, project, branches } = of
  for (const name of [session.branch_name, session.base_ref, project.default_branch]) {
    const tip = branches.get(name)
    const common = tip === undefined ? null : await mergeBase(store, base, tip)
    if (common !== null) return common
  }
  throw new ServiceError('unprocessable', 'No branch of the repository has a commit of that session.', {
    hint: 'Recover its work into a clone: `svc sessions recover <id> --branch <name>`.',
    detail: { issues: [{ path: 'from.session_id', message: 'shares no history with the repository' }] },
  })
}

async function carried(store: Repository, { commit, base }: WorkTree, startSha: string): Promise<CarriedWork | null> {
  if (commit === startSha) return null
  const { paths, files } = await changedFiles(store, { baseSha: base, headSha: commit })
  const unpushed = (await countBeyond(store, { sha: base, tips: [startSha] })) ?? 0
  if (files === 0 && unpushed === 0) return null
  return {
    ...{ commit_sha: commit, base_sha: base, files, unpushed_commits: unpushed },
    paths: paths.slice(0, pathsMax),
  }
}
