/** Unfinished work: read from a sandbox, stored in the repository of the project, listed and restored. */
import { ServiceError, sizeText } from '@svc/contract'
import {
  bundleWork,
  dropKeptRef,
  hasObjects,
  isSha,
  keepRef,
  keptRefName,
  keepWork,
  noteReplacedWork,
  type Repository,
} from '@svc/git'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import { quotasOf } from '../../projects/quotas.ts'
import { managedDir, mirrorDir } from '../../projects/repository.ts'
import { getProjectOrDeleted, getProject, type ProjectRow } from '../../projects/store.ts'
import type { DaemonAddress } from '../../sandboxes/daemon-client.ts'
import { requestWork, type WorkHead } from '../../sandboxes/daemon-work.ts'
import { getSessionById, type SessionWithSandbox } from '../store.ts'
import { insertSnapshot, setUnsavedWork, unfinishedBytesOf } from './snapshot-store.ts'
import type { RestBetweenTurns } from './rest-between-turns.ts'
import { branchesNow, pushedCommits, recount } from './unpushed.ts'
import type { SaveOutcome, WorkTree } from './save-outcome.ts'
import { neededCommits, recordTurnSnapshot } from './turn-snapshot-store.ts'
import { judgeWork, lostError, recordJudged } from './lost.ts'
import { allWorkOf, deleteWip, markRecovered, upsertWip, type WipRow, wipOfProject } from './store.ts'

type WipDeps = AcknowledgeDeps & Pick<Deps, 'config' | 'disk' | 'keyring' | 'now' | 'log'>

type ReadDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>

const megabyte = 1024 * 1024
/** The limits of one file and of all changes since the last save. Beyond them the rest is saved, and a note lists what is missing. */
const fileBytesMax = 100 * megabyte
const changedBytesMax = 512 * megabyte
/** Slightly more than the limit of changes, because random bytes do not compress. */
const packBytesMax = 600 * megabyte
/** How many earlier generations of a session keep their work. */
const earlierMax = 5
const haveMax = 200
/** A save may replace the work while it is looked for. */
const findsMax = 3

export const refOf = (sessionId: string) => `wip/${sessionId}`
const earlierRefOf = (row: WipRow) => `wip-earlier/${row.session_id}/${row.generation}`

/** A hidden ref as it is recorded. Its value before is of no use to anybody. */
export const hidden = (name: string) => ({ ref: keptRefName(name), old: null })

export function sessionOfWork(name: string): string | null {
  return /^wip(?:-earlier)?\/([0-9a-f-]{36})(?:\/\d+)?$/.exec(name)?.[1] ?? null
}

/** The local repository without a remote, as stored work never reaches a git host. */
export function storeOf(deps: Pick<Deps, 'config'>, project: ProjectRow): Repository {
  const { project_id: id, managed } = project
  return { dir: managed ? managedDir(deps, id) : mirrorDir(deps, id), remote: null }
}

/** Whether the agent rests, so that the work tree is that of its turns up to a message. */
type Rest = Pick<RestBetweenTurns, 'after' | 'kept'>

interface HowToSave {
  /** It may use twice the quota, so that no work is lost. */
  isLast?: boolean
  /** Whether the sandbox ends by now, so that this save must not wait for the copy of its project. */
  mayLag?: () => boolean
  rest?: Rest | null
}

/** The caller runs one save at a time. */
export async function saveWip(
  deps: WipDeps,
  daemon: DaemonAddress,
  signal: AbortSignal,
  { isLast = false, mayLag = () => isLast, rest = null }: HowToSave = {},
): Promise<SaveOutcome> {
  const outcome = await save(deps, daemon, { signal, isLast, mayLag, rest })
  if (outcome.kind !== 'failed')
    await setUnsavedWork(deps.db, daemon, outcome.kind === 'no-space' ? outcome.reason : null)
  return outcome
}

async function save(
  deps: WipDeps,
  daemon: DaemonAddress,
  { rest, ...how }: { signal: AbortSignal } & Required<HowToSave>,
): Promise<SaveOutcome> {
  const session = await getSessionById(deps.db, daemon.sessionId)
  const project = session === null ? null : await getProjectOrDeleted(deps.db, session.project_id)
  if (session === null || project === null) return { kind: 'failed', reason: 'The session was deleted.' }
  const store = storeOf(deps, project)
  const { saved: rows, lost } = await recordJudged(deps, { store, ...daemon })
  const messageId = rest?.after ?? null
  const saving = { session, project, store, rows, lost, ...how }
  const outcome = await saveOver(deps, daemon, saving)
  if (outcome.kind !== 'saved' && outcome.kind !== 'clean') return outcome
  await settleApplied(deps, daemon, saving)
  // The agent may have gone on during the save.
  if (messageId === null || messageId !== rest?.after) return outcome
  if (outcome.has !== null)
    await keepTurn(deps, project, { sessionId: session.session_id, messageId, has: outcome.has })
  rest.kept(messageId)
  return outcome
}

/** Work that the sandbox had applied before this save is in what it saved or pushed. */
async function settleApplied(deps: WipDeps, { generation }: DaemonAddress, saving: Saving): Promise<void> {
  const { store, rows, lost } = saving
  const applied = [...rows, ...lost].filter((row) => row.recovered_at === null && row.recovered_into === generation)
  for (const row of applied) {
    await markRecovered(deps.db, row.session_id, row.commit_sha, deps.now())
    await dropKeptRef(store, earlierRefOf(row))
    await acknowledgeWork(deps, saving, [earlierRefOf(row)])
  }
  await noteReplaced(deps, saving, commitsOf(applied))
}

interface Saving {
  session: SessionWithSandbox
  project: ProjectRow
  store: Repository
  /** What is saved already. */
  rows: WipRow[]
  /** This work was saved, and its repository lacks it now. */
  lost: WipRow[]
  signal: AbortSignal
  isLast: boolean
  mayLag: () => boolean
}

function acknowledgeWork(
  deps: WipDeps,
  { session, project, store, mayLag }: Saving,
  names: string[],
  write: (db: DbOrTransaction) => Promise<void> = async () => {},
): Promise<void> {
  const { session_id: sessionId } = session
  return acknowledge(deps, { project, store, refs: names.map(hidden), mayLag, sessionId }, write)
}

async function saveOver(deps: WipDeps, daemon: DaemonAddress, saving: Saving): Promise<SaveOutcome> {
  const request = new AbortController()
  const signal = AbortSignal.any([saving.signal, request.signal])
  try {
    return await saveReply(deps, daemon, { ...saving, signal })
  } finally {
    // The daemon waits for a reader of the rest of its pack, and runs no other save meanwhile.
    request.abort()
  }
}

async function saveReply(deps: WipDeps, daemon: DaemonAddress, saving: Saving): Promise<SaveOutcome> {
  const { session, project, store, rows, signal, isLast } = saving
  const mine = rows.find((row) => row.generation === daemon.generation)
  const have = mine !== undefined && (await hasObjects(store, [mine.commit_sha])) ? [mine.commit_sha] : []
  const outcome = await requestWork(
    daemon,
    {
      pushed: await pushedCommits(store, session, project),
      have,
      message: `Unfinished work of session ${session.session_id}`,
      file_bytes_max: fileBytesMax,
      bytes_max: changedBytesMax,
    },
    { bytesMax: packBytesMax, signal },
  )
  if (outcome.kind !== 'ok') return { kind: 'failed', reason: outcome.reason }
  const { head, pack } = outcome.value
  if (head.commit === null) return nothingUnfinished(deps, daemon, saving, head.base)
  // The last save has only seconds, so it does not ask the git host. Readers recount.
  const count = isLast ? () => head.unpushed : await counterOf(deps, store, { project, session, head })
  if (head.files === 0 && (await count()) === 0) return nothingUnfinished(deps, daemon, saving, head.base)
  const has = head.base === null ? null : { commit: head.commit, base: head.base }
  if (have.includes(head.commit)) {
    await record(deps, daemon, { ...head, unpushed: await count() }, head.commit)
    return { kind: 'saved', isNew: false, has }
  }
  const { project_id, session_id } = session
  const space = await spaceFor(deps, { project, sessionId: session_id, isLast })
  if (space.kind === 'none') return { kind: 'no-space', reason: space.reason }
  const earlier = rows.filter((row) => row.generation !== daemon.generation && row.recovered_at === null)
  for (const row of earlier) await keepRef(store, earlierRefOf(row), row.commit_sha)
  const stored = await keepWork(store, {
    name: refOf(session.session_id),
    commit: head.commit,
    pack,
    bytesMax: space.bytes,
    signal,
  })
  if (stored.kind === 'too-large') return { kind: 'no-space', reason: space.reason }
  if (stored.kind === 'refused') return { kind: 'failed', reason: stored.reason }
  const snapshot = { project_id, session_id, commit_sha: head.commit, bytes: stored.bytes }
  const names = [...earlier.map(earlierRefOf), refOf(session_id)]
  await acknowledgeWork(deps, saving, names, (db) => insertSnapshot(db, snapshot))
  await record(deps, daemon, { ...head, unpushed: await count() }, head.commit)
  // Snapshots that can no longer be requested. The first save of a generation also replaces recovered ones.
  const replaced = mine === undefined ? rows.filter((row) => row.recovered_at !== null) : [mine]
  for (const row of rows.filter(({ generation }) => generation !== daemon.generation).slice(earlierMax)) {
    await dropKeptRef(store, earlierRefOf(row))
    await deleteWip(deps.db, row.session_id, row.generation)
    await acknowledgeWork(deps, saving, [earlierRefOf(row)])
    replaced.push(row)
  }
  await noteReplaced(deps, saving, commitsOf(replaced))
  return { kind: 'saved', isNew: true, has }
}

const commitsOf = (rows: WipRow[]) => rows.map((row) => row.commit_sha)

/** The work after a turn stays for sessions that continue from there. */
async function noteReplaced(
  deps: Pick<WipDeps, 'db' | 'now'>,
  { project, store }: { project: Pick<ProjectRow, 'project_id'>; store: Repository },
  commits: string[],
): Promise<void> {
  const needed = await neededCommits(deps.db, project.project_id, commits)
  const unneeded = commits.filter((sha) => !needed.has(sha))
  await noteReplacedWork(store, unneeded, deps.now())
}

/** Records what the work tree had when a turn was over. */
async function keepTurn(
  deps: Pick<WipDeps, 'config' | 'db' | 'now'>,
  project: ProjectRow,
  { sessionId, messageId, has }: { sessionId: string; messageId: string; has: WorkTree },
): Promise<void> {
  const of = { project_id: project.project_id, session_id: sessionId, message_id: messageId }
  const row = { ...of, commit_sha: has.commit, base_sha: has.base, saved_at: deps.now() }
  const { replaced } = await recordTurnSnapshot(deps.db, row)
  if (replaced !== null) await noteReplaced(deps, { project, store: storeOf(deps, project) }, [replaced])
}

type Space = { kind: 'some'; bytes: number; reason: string } | { kind: 'none'; reason: string }

/** The free space, with the message for a snapshot that does not fit. */
async function spaceFor(
  deps: WipDeps,
  { project, sessionId, isLast }: { project: ProjectRow; sessionId: string; isLast: boolean },
): Promise<Space> {
  const unsaved = 'The newest unfinished work of this session is not saved: '
  const advice =
    'An earlier state is saved. Push the work or remove large files; until then the session does not stop when idle.'
  if (deps.disk.isLow && !isLast)
    return { kind: 'none', reason: `${unsaved}the disk of the server is almost full. ${advice}` }
  const quota = quotasOf(deps.config, project).unfinishedWorkBytes
  const used = await unfinishedBytesOf(deps.db, project.project_id, sessionId)
  const bytes = Math.min(packBytesMax, quota * (isLast ? 2 : 1) - used)
  const reason = `${unsaved}it does not fit. Saved work uses ${sizeText(used)} of ${sizeText(quota)}. ${advice}`
  return bytes > 0 ? { kind: 'some', bytes, reason } : { kind: 'none', reason }
}

async function counterOf(
  deps: WipDeps,
  store: Repository,
  { project, session, head }: { project: ProjectRow; session: SessionWithSandbox; head: WorkHead },
): Promise<() => Promise<number>> {
  if (head.unpushed === 0) return () => Promise.resolve(0)
  const branches = await branchesNow(deps, store, project, [session])
  const saved = { ...session, base_sha: head.base, unpushed_commits: head.unpushed }
  return () => recount(store, saved, { project, branches })
}

/** Deletes the saved work of this generation. Work of earlier ones stays until it is recovered. */
async function nothingUnfinished(
  deps: WipDeps,
  daemon: DaemonAddress,
  saving: Saving,
  head: string | null,
): Promise<SaveOutcome> {
  const { store, rows } = saving
  const clean: SaveOutcome = { kind: 'clean', has: head === null ? null : { commit: head, base: head } }
  if (!(await deleteWip(deps.db, daemon.sessionId, daemon.generation))) return clean
  const { generation } = daemon
  const isWaiting = (row: WipRow) => row.recovered_at === null && row.recovered_into !== generation
  const earlier = rows.find((row) => row.generation !== generation && isWaiting(row))
  if (earlier === undefined) await dropKeptRef(store, refOf(daemon.sessionId))
  else await keepRef(store, refOf(daemon.sessionId), earlier.commit_sha)
  await acknowledgeWork(deps, saving, [refOf(daemon.sessionId)])
  const mine = rows.filter((row) => row.generation === daemon.generation)
  await noteReplaced(deps, saving, commitsOf(mine))
  return clean
}

async function record(deps: WipDeps, daemon: DaemonAddress, head: WorkHead, commit: string): Promise<void> {
  await upsertWip(deps.db, {
    session_id: daemon.sessionId,
    generation: daemon.generation,
    commit_sha: commit,
    base_sha: head.base,
    files: head.files,
    unpushed_commits: head.unpushed,
    paths: JSON.stringify(head.paths),
    notes: JSON.stringify(head.notes),
    saved_at: deps.now(),
    recovered_at: null,
    recovered_into: null,
    lost_at: null,
  })
}

export async function readWip(deps: ReadDeps, session: SessionWithSandbox) {
  const project = await getProject(deps.db, session.project_id)
  const rows = (await allWorkOf(deps.db, session.session_id)).filter((row) => row.recovered_at === null)
  const { saved, lost } = project === null ? { saved: rows, lost: [] } : await judgeWork(storeOf(deps, project), rows)
  const { branch_name, base_ref } = session
  const of = saved.map((row) => ({ ...row, branch_name, base_ref }))
  const [newest, ...earlier] = await withCounts(deps, project, of)
  const none = { saved_at: null, commit: null, base: null, files: 0, paths: [], unpushed_commits: 0, notes: [] }
  return {
    ...(newest === undefined ? { ...none, generation: null } : present(newest)),
    returns: newest?.returns === true,
    earlier: earlier.map(present),
    lost: lost.map(presentLost),
  }
}

export async function listWip(deps: ReadDeps, project: ProjectRow) {
  return withCounts(deps, project, await wipOfProject(deps.db, project.project_id))
}

/** Recounts unpushed commits, and omits work that was pushed since it was saved. */
async function withCounts<
  Row extends Pick<WipRow, 'base_sha' | 'unpushed_commits' | 'files'> & { branch_name: string; base_ref: string },
>(deps: ReadDeps, project: ProjectRow | null, rows: Row[]): Promise<Row[]> {
  const pending = rows.filter(({ unpushed_commits }) => unpushed_commits > 0)
  if (project === null || pending.length === 0) return rows
  const store = storeOf(deps, project)
  const branches = await branchesNow(deps, store, project, pending)
  const counted: Row[] = []
  for (const row of rows) counted.push({ ...row, unpushed_commits: await recount(store, row, { project, branches }) })
  return counted.filter((row, index) => row.files + row.unpushed_commits > 0 || rows[index]!.unpushed_commits === 0)
}

function present(row: WipRow) {
  return {
    generation: row.generation,
    saved_at: row.saved_at,
    commit: row.commit_sha,
    base: row.base_sha,
    files: row.files,
    paths: row.paths,
    unpushed_commits: row.unpushed_commits,
    notes: row.notes,
  }
}

function presentLost({ generation, saved_at, files, unpushed_commits }: WipRow) {
  return { generation, saved_at, files, unpushed_commits }
}

interface WantedWork {
  project: ProjectRow
  sessionId: string
  have?: string | undefined
  generation?: number | undefined
  signal: AbortSignal
}

/** A git bundle of the newest work, recovered or not, or of one generation. It is found before the answer begins. */
export async function streamWip(deps: WipDeps, input: WantedWork): Promise<Response> {
  const store = storeOf(deps, input.project)
  for (let tries = 0; tries < findsMax; tries++) {
    const all = await allWorkOf(deps.db, input.sessionId)
    const { saved, lost } = await judgeWork(store, all)
    const isWanted = ({ generation }: WipRow) => input.generation === undefined || generation === input.generation
    const wanted = saved.find(isWanted)
    const wantedLost = lost.find(isWanted)
    if (wanted === undefined && wantedLost !== undefined) throw lostError(wantedLost)
    if (wanted === undefined)
      throw new ServiceError('not_found', 'This session has no unfinished work.', {
        hint: 'Everything is committed and pushed, or nothing changed.',
      })
    const body = await bundleOf(store, wanted, input)
    if (body === null) continue
    const headers = { 'content-type': 'application/x-git-bundle', 'cache-control': 'no-store' }
    return new Response(body, { headers: { ...headers, 'x-svc-commit': wanted.commit_sha } })
  }
  throw new ServiceError('unavailable', 'The saved work of this session was not found in its repository.', {
    hint: 'Try again: a running session saves its work every minute.',
  })
}

/** Null when a save replaced the work since its row was read. */
async function bundleOf(store: Repository, row: WipRow, { have, signal }: WantedWork) {
  const commit = row.commit_sha
  const known = (have ?? '').split(',').filter(isSha).slice(0, haveMax)
  const read = (name: string) => bundleWork(store, { name, commit, have: known, signal })
  const body = (await read(refOf(row.session_id))) ?? (await read(earlierRefOf(row)))
  if (body !== null || !(await hasObjects(store, [commit]))) return body
  // A server that died between the ref and the row of a save leaves the row's commit without a name.
  await keepRef(store, earlierRefOf(row), commit)
  return read(earlierRefOf(row))
}
