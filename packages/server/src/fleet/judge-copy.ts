/** How much of what was acknowledged a copy on this server has, before it becomes the repository of its project. */
import {
  dropRoots,
  followReplica,
  incompleteCommits,
  listAllRefs,
  notedKeptRefs,
  readReplicaMark,
  type RefValue,
  type ReplicaMark,
} from '@svc/git'
import type { Deps } from '../deps.ts'
import { finalValues, replicaDir } from '../projects/replicas/keep.ts'
import { changesAfter, isWholeLog, lastValues } from '../projects/replicas/store.ts'
import type { ProjectRow } from '../projects/store.ts'
import { findFormer } from './former-copy.ts'
import { findServer } from './store.ts'

/** A ref whose last acknowledged value the copy does not have. */
export interface MissingRef {
  ref: string
  acknowledged: string
  /** Its value in the copy. Null: it is not there. */
  copy: string | null
}

interface Candidate {
  dir: string
  mark: ReplicaMark
}

export interface Judged extends Candidate {
  missing: MissingRef[]
  /** Changes that nothing names any more may be missing, too. */
  isStale: boolean
  /** Each ref has this value once the copy has followed. A ref whose objects are not here is left out. */
  refs: Map<string, string>
  /** Refs as they were recorded since the copy followed last, as far as their objects are here. */
  values: RefValue[]
  /** The last change among those. */
  seq: number
}

type JudgeDeps = Pick<Deps, 'db'>

/**
 * Compares the copy of a project on this server with the repository that a move left here, and returns the one that
 * lacks less. Changes nothing. `upTo`: the last change that was recorded.
 */
export async function bestHere(
  deps: JudgeDeps & Parameters<typeof findFormer>[0],
  { project, upTo }: { project: ProjectRow; upTo: number },
): Promise<Judged | null> {
  const dir = replicaDir(deps, project.project_id)
  const mark = await readReplicaMark(dir)
  const copy = mark === null ? null : await judgeCopy(deps, { project, upTo, dir, mark })
  if (copy !== null && isWhole(copy)) return copy
  const found = await findFormer(deps, project)
  const former = found === null ? null : await judgeCopy(deps, { project, upTo, ...found })
  if (copy === null || former === null) return copy ?? former
  return lossOf(former) < lossOf(copy) ? former : copy
}

/** A copy that may lack more than is known counts as the worst. */
export function lossOf({ missing, isStale }: Pick<Judged, 'missing' | 'isStale'>): number {
  return missing.length + (isStale ? 1_000_000 : 0)
}

/** Everything that was acknowledged is in it. */
export function isWhole(copy: Pick<Judged, 'missing' | 'isStale'>): boolean {
  return lossOf(copy) === 0
}

async function judgeCopy(
  deps: JudgeDeps,
  { project, dir, mark, upTo }: Candidate & { project: ProjectRow; upTo: number },
): Promise<Judged> {
  const changes = await changesAfter(deps.db, { projectId: project.project_id, after: mark.seq, upTo })
  const recorded = finalValues(changes)
  const broken = new Set(await incompleteCommits(dir, shasOf(recorded)))
  const values = recorded.filter(({ sha }) => !broken.has(sha))
  const refs = await listAllRefs(dir)
  const damaged = new Set(await incompleteCommits(dir, shasOf(refs)))
  const isHere = ({ sha }: RefValue) => !damaged.has(sha) && !/^0+$/.test(sha)
  const followed = new Map([...refs, ...values].map((one) => [one.ref, one]))
  // An emptied mirror has notes of refs whose commits its host has.
  const noted = await notedKeptRefs(dir)
  const now = new Map([...noted, ...[...followed.values()].filter(isHere)].map(({ ref, sha }) => [ref, sha]))
  const acknowledged = await lastValues(deps.db, project.project_id)
  const missing = missingOf(
    acknowledged.filter((change) => !wasReplaced(change, { mark, copy: followed.get(change.ref), isHere })),
    now,
  )
  for (const { ref, sha } of followed.values())
    if (damaged.has(sha) && !missing.some((one) => one.ref === ref))
      missing.push({ ref, acknowledged: sha, copy: null })
  const isStale =
    !isWholeLog(changes, { after: mark.seq, upTo }) ||
    (mark.epoch !== project.home_epoch && !(await recordsRefs(deps, project)))
  return { dir, mark, missing, isStale, refs: now, values, seq: upTo }
}

const workPrefix = 'refs/svc/wip/'

/**
 * A save of unfinished work moves its ref before it is recorded, which fails while the copy cannot be written, and a session
 * that ends then never records it. A copy that was made since has the newer save, as its home has.
 */
function wasReplaced(
  { ref, seq }: { ref: string; seq: number },
  { mark, copy, isHere }: { mark: ReplicaMark; copy: RefValue | undefined; isHere: (value: RefValue) => boolean },
): boolean {
  return ref.startsWith(workPrefix) && seq <= mark.seq && copy !== undefined && isHere(copy)
}

const shasOf = (values: RefValue[]) => values.map(({ sha }) => sha)

export function missingOf(
  acknowledged: { ref: string; new_sha: string | null }[],
  now: Map<string, string>,
): MissingRef[] {
  return acknowledged.flatMap(({ ref, new_sha }) => {
    const copy = now.get(ref) ?? null
    return new_sha === null || copy === new_sha ? [] : [{ ref, acknowledged: new_sha, copy }]
  })
}

/** Without copies (SVC_REPLICA=none) a home records no refs, so nothing tells what it did since an earlier copy. */
async function recordsRefs({ db }: JudgeDeps, { home }: ProjectRow): Promise<boolean> {
  return home !== null && (await findServer(db, { server_name: home }))?.keeps_replicas === true
}

/** Brings the refs of the copy, which is in `dir` by now, to what was recorded, as far as it can be. */
export async function followJudged(dir: string, { mark, values, seq }: Judged): Promise<void> {
  await dropRoots(dir)
  if (seq > mark.seq) await followReplica(dir, values, { epoch: mark.epoch, seq })
}
