/** The part of the server that a project moves to: it copies the repository, and takes the project once it has all of it. */
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sizeText } from '@svc/contract'
import {
  type CopyManifest,
  finishCopy,
  isDiskFull,
  isSameCopy,
  placeCopy,
  readCopyManifest,
  storeBytes,
} from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { switchHome } from '../../projects/home-store.ts'
import { requestPoll } from '../../projects/poll-store.ts'
import { getProjectOrDeleted, type ProjectRow } from '../../projects/store.ts'
import { authorityOf, PeerRepository, storedDir } from '../peer-git.ts'
import { livePeer } from '../store.ts'
import { undoMove, waitFor } from './end-move.ts'
import { goOn } from './source.ts'
import { activeMoveOf, lockMove, type MoveRow, noteProgress, setPhase } from './store.ts'

/** A pass that takes no longer leaves little for the last one, during which writes wait. */
const smallPassMs = 2_000
/** On a busy machine, or of a repository that always changes, no pass is small: later ones find as much as these. */
const passesMax = 4
/** Passes while nothing is acknowledged: the second finds nothing. */
const lastPassesMax = 3
/** While agents are at work, the copy is kept fresh. */
const refreshMs = 20_000
/** How often a pass looks whether its move has ended. */
const lookEveryMs = 1_000
/** How often a pass that goes on says so. */
const noteEveryMs = 60_000
/** The most that passes of a move have brought so far. */
const broughtBytes = new LRUCache<string, number>({ max: 1_000 })

export const roomOf = ({ config }: Pick<Deps, 'config'>, projectId: string) =>
  join(config.dataDir, 'moving', `${projectId}.git`)

/** One pass, while the project is used. */
export async function copyOnce(deps: Deps, move: MoveRow, signal: AbortSignal): Promise<void> {
  if (move.phase === 'copied' && deps.now().getTime() - Date.parse(move.progress_at) < refreshMs) return
  if (deps.disk.isLow) return waitFor(deps, move, `The disk of ${move.to_server} is almost full.`)
  const source = await sourceOf(deps, move)
  if (source === null) return waitFor(deps, move, `${move.from_server} is not running.`)
  await whileActive(deps, move, signal, (active) => copyInto(deps, move, source, active))
}

async function copyInto(deps: Deps, move: MoveRow, source: PeerRepository, signal: AbortSignal): Promise<void> {
  const began = performance.now()
  const { manifest, bytes, problem } = await source.describe(signal)
  if (problem !== null) return giveUp(deps, move, problem)
  if (manifest !== null) {
    const full = (await lackOfSpace(deps, move, bytes)) ?? (await fillRoom(deps, move, { source, manifest, signal }))
    if (full !== null) return giveUp(deps, move, full)
  } else if ((await getProjectOrDeleted(deps.db, move.project_id))?.managed === true) {
    const error = `${move.from_server} has no repository of this project.`
    return void (await undoMove(deps, move, { error, again: false }))
  }
  await failpoint('move.after_pass')
  const passes = move.passes + 1
  const isSmall = performance.now() - began < smallPassMs || passes >= passesMax
  if (move.phase === 'copying' && isSmall)
    await setPhase(deps.db, move, 'copying', { phase: 'copied', passes, error: null })
  else await noteProgress(deps.db, move, { passes, progress_at: deps.now() })
}

/**
 * A long pass counts as stuck unless it brings something. One that was cut and begins again has to bring more than the
 * one before: otherwise a move that never succeeds would never end.
 */
async function noteBrought(deps: Pick<Deps, 'config' | 'db' | 'now'>, move: MoveRow): Promise<void> {
  if (deps.now().getTime() - Date.parse(move.progress_at) < noteEveryMs) return
  const bytes = await storeBytes(roomOf(deps, move.project_id))
  if (bytes <= (broughtBytes.get(move.move_id) ?? 0)) return
  broughtBytes.set(move.move_id, bytes)
  await noteProgress(deps.db, move, { progress_at: deps.now() })
}

/** Works on the room until the move ends, which another server may do: more would fill the disk for nothing. Null: it ended. */
function whileActive<T>(
  deps: Pick<Deps, 'config' | 'db' | 'localLocks' | 'log' | 'now'>,
  move: MoveRow,
  signal: AbortSignal,
  work: (active: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const ended = new AbortController()
  const look = async () => {
    const now = await activeMoveOf(deps.db, move.project_id)
    if (now?.move_id !== move.move_id) ended.abort()
    else await noteBrought(deps, now)
  }
  const lookAgain = (error: unknown) => deps.log.debug({ err: error }, 'failed to read a move; it is read again')
  const leave = () => {
    const { move_id, project_id, phase } = move
    deps.log.info({ move_id, project_id, phase }, 'a move ended while it was copied to this server')
    return null
  }
  return withRoom(deps, move.project_id, async () => {
    // The room may be removed already.
    await look()
    if (ended.signal.aborted) return leave()
    const looking = setInterval(() => void look().catch(lookAgain), lookEveryMs)
    try {
      return await work(AbortSignal.any([signal, ended.signal]))
    } catch (error) {
      if (ended.signal.aborted) return leave()
      throw error
    } finally {
      clearInterval(looking)
    }
  })
}

/** Null: what is still to copy fits. */
async function lackOfSpace({ config, disk }: Deps, move: MoveRow, bytes: number): Promise<string | null> {
  const missing = bytes - (await storeBytes(roomOf({ config }, move.project_id)))
  const free = disk.freeBytes - disk.minFreeBytes
  if (missing <= free) return null
  return `The repository needs ${sizeText(missing)}, and the disk of ${move.to_server} has ${sizeText(free)} for it.`
}

/** Null: the pass is done. Otherwise why the disk cannot take it. */
async function fillRoom(deps: Deps, move: MoveRow, pass: Pass): Promise<string | null> {
  try {
    await fetchPass(deps, move, pass)
    return null
  } catch (error) {
    if (!isDiskFull(error)) throw error
    return `The disk of ${move.to_server} became full while the repository was copied.`
  }
}

/** Leaves nothing of the copy, as on a disk that lacks the space. */
async function giveUp(deps: Deps, move: MoveRow, error: string): Promise<void> {
  if (await undoMove(deps, move, { error, again: false })) await removeRoom(deps, move.project_id)
}

/** The last pass, the comparison and the switch: nothing is acknowledged for the project meanwhile. */
export async function takeOver(deps: Deps, move: MoveRow, signal: AbortSignal): Promise<void> {
  const { project_id: projectId, from_server, to_server, home_epoch } = move
  const project = await getProjectOrDeleted(deps.db, projectId)
  const source = await sourceOf(deps, move)
  if (project === null || source === null) return waitFor(deps, move, `${from_server} is not running.`)
  await failpoint('move.before_last_pass')
  const isWhole = await whileActive(deps, move, signal, (active) =>
    copyRest(deps, { move, project, source, signal: active }),
  )
  if (isWhole === null) return
  if (!isWhole) return void (await undoMove(deps, move, { error: 'The copy never equaled its source.', again: true }))
  await failpoint('move.before_switch')
  const taken = await deps.db.transaction().execute(async (trx) => {
    if ((await lockMove(trx, move.move_id))?.phase !== 'frozen') return null
    const of = { project_id: projectId, home: from_server, home_epoch }
    const moved = await switchHome(trx, of, to_server)
    return moved === null ? null : setPhase(trx, move, 'frozen', { phase: 'done', error: null })
  })
  if (taken === null) return
  await failpoint('move.after_switch')
  deps.homeGate.open(projectId)
  deps.homeGate.changed(projectId)
  deps.log.info({ project_id: projectId, from: from_server }, 'a project has moved to this server')
  await requestPoll(deps.db, projectId)
  await goOn(deps)
}

async function sourceOf(deps: Deps, { from_server: serverName, project_id: projectId }: MoveRow) {
  const peer = await livePeer(deps.db, { serverName, deadAfterSeconds: deps.heartbeat.deadAfterSeconds() })
  return peer === null ? null : new PeerRepository(deps, { peer, projectId })
}

interface Pass {
  source: PeerRepository
  manifest: CopyManifest
  signal: AbortSignal
}

async function fetchPass(deps: Deps, move: MoveRow, { source, manifest, signal }: Pass): Promise<void> {
  const { unreadable } = await source.fetchInto(roomOf(deps, move.project_id), manifest, signal)
  if (unreadable.length > 0)
    deps.log.warn(
      { project_id: move.project_id, from: move.from_server, commits: unreadable.length },
      'the source of a move cannot send commits that no branch reaches',
    )
}

/** False when source and copy differ after the last pass. */
async function copyRest(
  deps: Deps,
  input: { move: MoveRow; project: ProjectRow; source: PeerRepository; signal: AbortSignal },
): Promise<boolean> {
  const { move, project, source, signal } = input
  const room = roomOf(deps, move.project_id)
  for (let pass = 0; pass < lastPassesMax; pass++) {
    const manifest = await source.manifest(signal)
    // A mirror that was never fetched. A managed repository always exists.
    if (manifest === null) return !project.managed
    await fetchPass(deps, move, { source, manifest, signal })
    await finishCopy(room, manifest)
    const mine = await readCopyManifest(room)
    const now = await source.manifest(signal)
    if (mine === null || now === null || !isSameCopy(mine, now) || !isSameCopy(manifest, now)) continue
    await place(deps, project)
    return true
  }
  return false
}

/** An earlier copy of this project, of a time when this server was its home, makes room. */
async function place(deps: Deps, project: ProjectRow): Promise<void> {
  const dir = storedDir(deps, project)
  await withCopy(deps, project.project_id, async () => {
    await setAside(deps, dir, project.project_id)
    await placeCopy(roomOf(deps, project.project_id), dir)
  })
}

/**
 * One at a time per project among all that put a repository where this server keeps those of its projects, or take one
 * away: the end of a move, a take-over, and the job that removes old copies.
 */
export function withCopy<T>({ localLocks }: Pick<Deps, 'localLocks'>, projectId: string, work: () => Promise<T>) {
  return localLocks.run(`copy of ${projectId}`, work)
}

/** One at a time per project among the passes that fill its room and the job that removes the room. */
export function withRoom<T>({ localLocks }: Pick<Deps, 'localLocks'>, projectId: string, work: () => Promise<T>) {
  return localLocks.run(`room of ${projectId}`, work)
}

export const asideOf = ({ config }: Pick<Deps, 'config'>) => join(config.dataDir, 'moved')

/** Moves a copy to where nothing looks for it. Does nothing when there is none. */
export async function setAside(deps: Pick<Deps, 'config' | 'now'>, dir: string, projectId: string): Promise<void> {
  const aside = join(asideOf(deps), `${projectId}-${deps.now().getTime()}.git`)
  await mkdir(dirname(aside), { recursive: true })
  await rename(dir, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

export async function removeRoom(deps: Pick<Deps, 'config'>, projectId: string): Promise<void> {
  const room = roomOf(deps, projectId)
  // The folder goes last: the job that removes rooms finds them by it.
  await rm(authorityOf(room), { force: true })
  await rm(room, { recursive: true, force: true })
}
