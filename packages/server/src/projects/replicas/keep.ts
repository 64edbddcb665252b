/** The copies on this server: what the homes of their projects send, and following their refs. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract'
import {
  fillReplica,
  followReplica,
  incompleteCommits,
  keepReplicaFiles,
  keepReplicaPack,
  keepRoots,
  listAllRefs,
  type ObjectFormat,
  orIfAbsent,
  readReplicaMark,
  type RefValue,
  sweepReplica,
  tidyReplica,
} from '@svc/git'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { rootsOf } from '../../storage/root-queries.ts'
import { storedProjects } from '../mirrors/stored-repositories.ts'
import { getProjects, purgedAmong } from '../store.ts'
import { readPackBody } from './pack-body.ts'
import type { HeldReplica } from './peer.ts'
import {
  changesAfter,
  copiedElsewhere,
  deleteReplica,
  dropReplica,
  isWholeLog,
  type ReplicaRow,
  replicasAt,
  replicasBehind,
  setApplied,
} from './store.ts'

export function replicaDir(deps: Pick<Deps, 'config'>, projectId: string): string {
  return join(deps.config.dataDir, 'replicas', `${projectId}.git`)
}

export async function heldReplica(deps: Pick<Deps, 'config'>, projectId: string): Promise<HeldReplica> {
  const dir = replicaDir(deps, projectId)
  const mark = await readReplicaMark(dir)
  if (mark === null) throw noReplica()
  return { ...mark, refs: await listAllRefs(dir) }
}

interface FromHome {
  projectId: string
  from: string
  epoch: number
  body: AsyncIterable<Uint8Array>
  signal: AbortSignal
}

/** Resolves once the objects are on the disk. */
export async function keepObjects(
  deps: Pick<Deps, 'config'>,
  { projectId, epoch, body, signal }: FromHome,
  kind: 'pack' | 'files',
): Promise<void> {
  const dir = replicaDir(deps, projectId)
  const mark = await readReplicaMark(dir)
  if (mark === null) throw noReplica()
  if (mark.epoch !== epoch) throw otherHome()
  await failpoint('replica.before_objects')
  if (kind === 'pack') await keepReplicaPack(dir, body, { signal })
  else await keepReplicaFiles(dir, await readWhole(body))
  await failpoint('replica.after_objects')
}

/** More than a home sends as files. */
const filesBytesMax = 8 * 1024 * 1024

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > filesBytesMax) throw new ServiceError('body_too_large', 'The files of a change are too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export async function fillFromHome(
  deps: Pick<Deps, 'config' | 'db'>,
  input: FromHome & { seq: number; format: ObjectFormat },
): Promise<void> {
  const { projectId, from, epoch, seq, format, body, signal } = input
  const [project] = await getProjects(deps.db, [projectId])
  if (project === undefined || project.home !== from || project.home_epoch !== epoch) throw otherHome()
  const { line, pack } = await readPackBody(body)
  const { refs, noted, roots } = JSON.parse(line) as { refs: RefValue[]; noted: RefValue[]; roots?: string[] }
  await failpoint('replica.before_refs')
  await fillReplica(
    replicaDir(deps, projectId),
    { epoch, seq, format, refs, noted, roots: roots ?? [], pack },
    { signal },
  )
}

function noReplica(): ServiceError {
  return new ServiceError('not_found', 'This server has no copy of the project.')
}

function otherHome(): ServiceError {
  return new ServiceError('conflict', 'The project has another home by now.')
}

const followedMax = 200

/** A job: brings the refs of copies to what was acknowledged. Their objects are here already. */
export async function followRefs(
  deps: Pick<Deps, 'config' | 'db' | 'home' | 'serverName' | 'log'>,
  signal: AbortSignal,
): Promise<'again' | null> {
  if (deps.home === null) return null
  const behind = await replicasBehind(deps.db, deps.serverName, followedMax)
  for (const row of behind) {
    if (signal.aborted) return null
    try {
      await followOne(deps, row)
    } catch (error) {
      deps.log.warn({ err: error, project_id: row.project_id }, 'a copy did not follow its project; retrying')
    }
  }
  return behind.length === followedMax ? 'again' : null
}

async function followOne(
  deps: Pick<Deps, 'config' | 'db' | 'serverName' | 'log'>,
  { project_id, epoch, acknowledged_seq }: ReplicaRow,
): Promise<void> {
  const dir = replicaDir(deps, project_id)
  const mark = await readReplicaMark(dir)
  if (mark === null || mark.epoch !== epoch) return
  const changes = await changesAfter(deps.db, { projectId: project_id, after: mark.seq, upTo: acknowledged_seq })
  if (!isWholeLog(changes, { after: mark.seq, upTo: acknowledged_seq })) {
    deps.log.error(
      { project_id, seq: mark.seq, acknowledged_seq },
      'a copy is older than the recorded changes of its project; its home makes another',
    )
    return deleteReplica(deps.db, project_id)
  }
  const values = finalValues(changes)
  const broken = await incompleteCommits(
    dir,
    values.map(({ sha }) => sha),
  )
  if (broken.length > 0) {
    deps.log.error(
      { project_id, commits: broken },
      'a copy lacks objects of acknowledged changes; its home makes another',
    )
    return deleteReplica(deps.db, project_id)
  }
  if (changes.length > 0) await followReplica(dir, values, { epoch, seq: changes.at(-1)!.seq })
  await setApplied(deps.db, { project_id, server: deps.serverName, seq: acknowledged_seq })
}

/** What each ref is after these changes. Zeros: it is gone. */
export function finalValues(changes: { ref: string; old_sha: string | null; new_sha: string | null }[]): RefValue[] {
  const values = new Map<string, string>()
  for (const { ref, new_sha } of changes) values.set(ref, new_sha ?? '0'.repeat(40))
  return [...values].map(([ref, sha]) => ({ ref, sha }))
}

/** A job: drops the rows of copies that this disk does not have, or only as they were before. Their homes make others. */
export async function dropLostReplicas(deps: Pick<Deps, 'config' | 'db' | 'serverName' | 'log'>): Promise<void> {
  for (const row of await replicasAt(deps.db, deps.serverName)) {
    const { project_id, epoch, applied_seq } = row
    const mark = await readReplicaMark(replicaDir(deps, project_id))
    // The mark is written before the row: an older one is that of a disk that was restored.
    if (mark !== null && mark.epoch === epoch && mark.seq >= applied_seq) continue
    await dropReplica(deps.db, row)
    deps.log.error({ project_id, mark, epoch, applied_seq }, 'a copy is gone from this disk; its home makes another')
  }
}

/** More packs than this are joined. */
const packsMax = 50

/** A job: removes copies that another server has taken over and those of purged projects, and tidies the rest. */
export async function sweepReplicas(
  deps: Pick<Deps, 'config' | 'db' | 'serverName' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const ids = await storedProjects(deps, 'replicas')
  const gone = new Set([
    ...(await copiedElsewhere(deps.db, ids, deps.serverName)),
    ...(await purgedAmong(deps.db, ids)),
  ])
  // Removed before the rest is tidied, which takes minutes: a home can choose this server again meanwhile.
  for (const projectId of gone) {
    await rm(replicaDir(deps, projectId), { recursive: true, force: true })
    deps.log.info({ project_id: projectId }, 'removed a copy that this server no longer keeps')
  }
  for (const projectId of ids) {
    if (gone.has(projectId)) continue
    if (signal.aborted) return
    const dir = replicaDir(deps, projectId)
    try {
      await sweepReplica(dir)
      const packs = (await readdir(join(dir, 'objects/pack')).catch(orIfAbsent<string[]>([]))).filter((name) =>
        name.endsWith('.pack'),
      )
      if (packs.length <= packsMax) continue
      await keepRoots(dir, await rootsOf(deps.db, projectId))
      await tidyReplica(dir, { signal })
    } catch (error) {
      deps.log.warn({ err: error, project_id: projectId }, 'tidying a copy failed; retrying')
    }
  }
}
