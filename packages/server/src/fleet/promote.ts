/** A copy on this server becomes the repository of its project, whose home is gone for good. */
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type LostMerge, ServiceError } from '@svc/contract'
import { keepFromFolder, listAllRefs, placeOf, readReplicaMark, removeReplicaMark, setHead } from '@svc/git'
import { recordLostMerges } from '../change-requests/merge/lost-store.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { lockHome, moveHome } from '../projects/home-store.ts'
import { failActiveMove } from './moves/store.ts'
import { setAside, withCopy } from './moves/target.ts'
import { replicaDir } from '../projects/replicas/keep.ts'
import { deleteReplica, insertRefChanges, lastSeq, lastValues } from '../projects/replicas/store.ts'
import { managedDir, openRepositoryQuietly } from '../projects/repository.ts'
import { getProjectOrDeleted, type ProjectRow } from '../projects/store.ts'
import { endOfProject } from '../sandboxes/store.ts'
import { recordLostWork, setReturning } from '../sessions/unfinished-work/store.ts'
import { adoptFormer } from './former-copy.ts'
import { bestHere, followJudged, isWhole, type Judged, type MissingRef, missingOf } from './judge-copy.ts'
import { lostMerges } from './lost-merges.ts'
import { lostWork } from './lost-work.ts'

/** `is_stale`: the copy is older than what is recorded. A server of an earlier version names no merges. */
interface Loss {
  missing: MissingRef[]
  is_stale: boolean
  lost_merges?: LostMerge[]
}

export type Promoted =
  | ({ kind: 'taken' } & Loss)
  /** Nothing was changed, because acknowledged changes would be lost. */
  | ({ kind: 'lossy' } & Loss)
  /** There is no copy here, and the project needs one. */
  | { kind: 'no-copy' }
  | { kind: 'moved' }

export interface Promote {
  projectId: string
  deadHome: string
  epoch: number
  acceptLoss: boolean
  /** Only says what would be lost, as `lossy`, also when it is nothing. */
  isTrial?: boolean
  reason: string
}

type PromoteDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'localLocks' | 'log' | 'now' | 'serverName'>

/** May run again after it was interrupted at any step. */
export function promote(deps: PromoteDeps, input: Promote): Promise<Promoted> {
  return withCopy(deps, input.projectId, async () => {
    for (;;) {
      const promoted = await promoteOnce(deps, input)
      if (promoted.kind !== 'changed') return promoted
    }
  })
}

/** `changed`: the old home woke and recorded something after the copy was compared. Nothing was taken. */
async function promoteOnce(deps: PromoteDeps, input: Promote): Promise<Promoted | { kind: 'changed' }> {
  const { projectId, deadHome, epoch, acceptLoss } = input
  const project = await getProjectOrDeleted(deps.db, projectId)
  if (project === null || project.home !== deadHome || project.home_epoch !== epoch) return { kind: 'moved' }
  const dir = replicaDir(deps, projectId)
  await undoInterrupted(deps, project, dir)
  const compared = await lastSeq(deps.db, projectId)
  const best = await bestHere(deps, { project, upTo: compared })
  const needsNone = !project.managed && compared === 0
  const copy = needsNone && best?.isStale === true ? null : best
  // An external project has its branches on its host, and nothing else unless a change was recorded.
  if (copy === null && (project.managed || (!needsNone && !acceptLoss))) return { kind: 'no-copy' }
  const missing = copy?.missing ?? missingOf(await lastValues(deps.db, projectId), new Map())
  const isStale = copy?.isStale === true
  const lost = await lostMerges(deps.db, { project, copy })
  const loss: Loss = { missing, is_stale: isStale, lost_merges: lost }
  if (input.isTrial === true || (!isWhole({ missing, isStale }) && !acceptLoss)) return { kind: 'lossy', ...loss }
  const work = await lostWork(deps.db, { projectId, copy })
  await failpoint('promote.before_files')
  let refs = new Map<string, string>()
  if (copy !== null) {
    await adoptFormer(deps, project, copy)
    await followJudged(dir, copy)
    refs = await refsNow(dir, copy)
    await (project.managed ? becomeRepository(deps, project, dir) : intoMirror(deps, project, dir))
  }
  await failpoint('promote.before_row')
  const outcome = await deps.db.transaction().execute(async (trx) => {
    // From here on the old home can record nothing.
    if ((await lockHome(trx, project, deadHome)) === null) return 'moved'
    if ((await lastSeq(trx, projectId)) !== compared) return 'changed'
    await moveHome(trx, project, deps.serverName)
    await recordLoss(trx, { project, serverName: deps.serverName, missing, refs })
    await recordLostMerges(trx, { crIds: lost.map(({ cr_id }) => cr_id), server: deadHome })
    await recordLostWork(trx, work)
    await failActiveMove(trx, projectId, `Its home ${deadHome} was taken over.`)
    await deleteReplica(trx, projectId)
    await setReturning(trx, { project_id: projectId })
    await endOfProject(trx, projectId, input.reason)
    return 'taken'
  })
  await failpoint('promote.after_row')
  if (outcome !== 'taken') {
    await undoInterrupted(deps, project, dir)
    return { kind: outcome }
  }
  await removeReplicaMark(managedDir(deps, projectId))
  await rm(dir, { recursive: true, force: true })
  deps.log.warn(
    { project_id: projectId, from: deadHome, missing, lost_merges: lost.map(({ number }) => number) },
    'this server is the home of a project that it took over',
  )
  return { kind: 'taken', ...loss }
}

/** With those of an emptied mirror, of which there are only notes, and those that are damaged. */
async function refsNow(dir: string, { refs }: Judged): Promise<Map<string, string>> {
  return new Map([...refs, ...(await listAllRefs(dir)).map(({ ref, sha }) => [ref, sha] as const)])
}

/**
 * An accepted loss is a change like any other. Otherwise the new home counts as a disk of an earlier time, which
 * acknowledges nothing, and a check finds the difference for good.
 */
async function recordLoss(
  trx: DbOrTransaction,
  of: { project: ProjectRow; serverName: string; missing: MissingRef[]; refs: Map<string, string> },
): Promise<void> {
  const { project_id, home_epoch } = of.project
  const changes = of.missing
    .map(({ ref, acknowledged }) => ({ ref, old: acknowledged, new: of.refs.get(ref) ?? null }))
    // The ref of a damaged commit is in place.
    .filter((change) => change.new !== change.old)
  if (changes.length === 0) return
  const home = { home: of.serverName, home_epoch: home_epoch + 1 }
  await insertRefChanges(trx, { project_id, ...home, changes, replica: null })
}

/** A repository with the mark of a copy was moved into place before its project was: it is a copy again. */
async function undoInterrupted(deps: PromoteDeps, project: ProjectRow, dir: string): Promise<void> {
  const repository = managedDir(deps, project.project_id)
  if ((await readReplicaMark(repository)) === null || (await placeOf(dir)) !== null) return
  await rename(repository, dir)
}

/** The mark goes last: until then an interrupted promotion is undone. */
async function becomeRepository(deps: PromoteDeps, project: ProjectRow, dir: string): Promise<void> {
  const repository = managedDir(deps, project.project_id)
  await setHead(dir, project.default_branch)
  // Of an earlier time in which this server was the home.
  await setAside(deps, repository, project.project_id)
  await mkdir(dirname(repository), { recursive: true })
  await rename(dir, repository)
}

/** The branches come from the host at the next use. */
async function intoMirror(deps: PromoteDeps, project: ProjectRow, dir: string): Promise<void> {
  const mirror = await openRepositoryQuietly(deps, project).catch((error: unknown) => {
    const why = error instanceof ServiceError ? `: ${error.message}` : '. The log of this server has the reason.'
    throw new ServiceError('unavailable', `The mirror of the project could not be made${why}`, { cause: error })
  })
  await keepFromFolder(mirror.dir, dir)
}
