/** Keeps a copy of each project at home here on another server: makes it, sends it objects, and replaces it. */
import { listAllRefs, missingObjects, notedKeptRefs, objectFormat, type Repository, writeFiles } from '@svc/git'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import type { Deps, HowToSend, RepositoryReplicas } from '../../deps.ts'
import { withDeadline } from '../../deadline.ts'
import '../../failpoint.ts'
import { isAnswering, lookAgain } from '../../fleet/reachable.ts'
import { pause } from '../../pause.ts'
import type { Homed } from '../home-store.ts'
import { rootsOf } from '../../storage/root-queries.ts'
import { getProjectOrDeleted, type ProjectRow } from '../store.ts'
import { packBody, packOf, packWithRoots } from './pack-body.ts'
import { askPeer, type HeldReplica, PeerFailure, reasonOf, replicaPath } from './peer.ts'
import { listRefsToCopy, storeOf } from './refs-to-copy.ts'
import { beingMade, noCopy, noneRuns, notAnswering, Uncopied } from './uncopied.ts'
import {
  changesAfter,
  clearCopyFailure,
  clearFailuresAt,
  findReplica,
  hasKeepers,
  isDraining,
  isWholeLog,
  type Keeper,
  knownKeepers,
  lastSeq,
  liveKeepers,
  projectsToCopy,
  recordCopyFailure,
  type ReplicaRow,
  setAcknowledged,
  setReplica,
} from './store.ts'

/** How long a change waits for its copy. A restart of a server takes two to five seconds. */
const waitMsMax = 20_000
/** How long a server with a copy may be silent before another one gets a copy. */
const silentMsMax = 8_000
const retryMs = 200
const lookMs = 2_000
/** A copy that is found takes milliseconds. */
const slowMs = 1_000
/** A paused server answers nothing, and a write waits for another one then. */
const answerMsMax = 5_000
/** A large repository over a slow network. */
const fillMsMax = 30 * 60_000
const tendedAtOnce = 4
const tendedMax = 200
/** Commits that a pack may build on. More of them cost git more than they save. */
const hasMax = 500

type ReplicasDeps = Pick<
  Deps,
  | 'config'
  | 'db'
  | 'heartbeat'
  | 'home'
  | 'keyring'
  | 'peerTls'
  | 'localLocks'
  | 'log'
  | 'now'
  | 'serverName'
  | 'tracing'
>
type Store = Pick<Repository, 'dir' | 'group'>

/** The copy of a project, as this home knows it. */
interface Copy {
  projectId: string
  keeper: Keeper
  epoch: number
  /** Its refs, with the changes that it has yet to follow. */
  tips: Map<string, string>
  /** Further commits that it has, for as long as it keeps them without a ref. */
  sent: LRUCache<string, true>
}

/** Shorter than a replaced save of work stays in the store. */
const sentMs = 45 * 60_000
/** A server that was given up is tried again after this time. */
const forgivenMs = 60_000

interface Waiting {
  until: number
  onWait: HowToSend['onWait']
}

interface Question {
  path: string
  method?: 'GET' | 'POST'
  body?: Uint8Array | ReadableStream<Uint8Array>
  timeoutMs?: number
  signal?: AbortSignal
}

export class Replicas implements RepositoryReplicas {
  readonly #deps: ReplicasDeps
  readonly #copies = new LRUCache<string, Copy>({ max: 5_000 })
  readonly #silentSince = new Map<string, number>()
  /** Servers whose last write failed. That they answer questions, as with a read-only disk, does not help. */
  readonly #failing = new Set<string>()
  /** What the copies of projects that are looked for or made wait for. */
  readonly #pending = new LRUCache<string, string>({ max: 5_000 })
  /** The epochs of projects whose every ref is known to be recorded. Empty at the start: the server before may have been killed. */
  readonly #complete = new LRUCache<string, number>({ max: 5_000 })

  constructor(deps: ReplicasDeps) {
    this.#deps = deps
  }

  get mode() {
    return this.#deps.home === null ? 'none' : this.#deps.config.replica
  }

  async send(project: Homed, store: Store, commits: string[], how: HowToSend = {}): Promise<string | null> {
    if (this.mode !== 'sync') return null
    const until = (how.since ?? performance.now()) + (how.waitMs ?? waitMsMax)
    return this.#withCopy(project, { until, onWait: how.onWait }, async (copy) => {
      await this.#transfer(copy, store, commits, how.files)
      return copy.keeper.server_name
    })
  }

  recorded(project: Homed, store: Store, changes: { ref: string; new: string | null }[], replica: string | null): void {
    const copy = this.#copies.get(project.project_id)
    // One that lags is no base for what is sent next.
    const hasThem = copy?.epoch === project.home_epoch && copy.keeper.server_name === replica
    if (hasThem && this.mode === 'sync')
      setTips(
        copy,
        changes.map((change) => ({ ref: change.ref, new_sha: change.new })),
      )
    if (this.mode !== 'async') return
    const later = (error: unknown) =>
      this.#deps.log.warn(
        { err: error, project_id: project.project_id },
        'failed to send changes to the copy of a project; retrying',
      )
    void this.#catchUp(project, store).catch(later)
  }

  forget(projectId: string): void {
    this.#copies.delete(projectId)
  }

  async missing(
    project: Homed,
    store: Store,
    { onWait }: Pick<HowToSend, 'onWait'> = {},
  ): Promise<{ ref: string; old: string | null }[]> {
    const { project_id, home_epoch } = project
    if (this.mode !== 'sync' || this.#complete.get(project_id) === home_epoch) return []
    const waiting = { until: performance.now() + waitMsMax, onWait }
    const copy = await this.#withCopy(project, waiting, (found) => found)
    if (copy === null) return []
    const refs = new Map((await listAllRefs(store.dir, 'refs/')).map(({ ref, sha }) => [ref, sha]))
    return [...new Set([...refs.keys(), ...copy.tips.keys()])]
      .filter((ref) => /^refs\/(heads|tags)\//.test(ref) && refs.get(ref) !== copy.tips.get(ref))
      .map((ref) => ({ ref, old: copy.tips.get(ref) ?? null }))
  }

  allRecorded({ project_id, home_epoch }: Homed): void {
    this.#complete.set(project_id, home_epoch)
  }

  unrecorded(projectId: string): void {
    this.#complete.delete(projectId)
  }

  async tend(signal: AbortSignal): Promise<'again' | null> {
    const { db, serverName, log } = this.#deps
    if (this.mode === 'none') return null
    const of = { serverName, deadAfterSeconds: this.#deadAfter() }
    if (!(await hasKeepers(db, serverName)) && (await liveKeepers(db, of)).length === 0) {
      await clearFailuresAt(db, serverName)
      return null
    }
    const pending = await projectsToCopy(db, { ...of, limit: tendedMax })
    let done = 0
    await pLimit(tendedAtOnce).map(pending, async (projectId) => {
      if (signal.aborted) return
      const project = await getProjectOrDeleted(db, projectId)
      if (project === null || project.home !== serverName) return
      try {
        this.forget(projectId)
        const copy = await this.#copyOf(project)
        if (copy === null) return
        await this.#catchUp(project, storeOf(this.#deps, project))
        if (copy.keeper.is_draining)
          await this.#deps.localLocks.run(`replica ${projectId}`, () => this.#leaveDraining(project))
        // It answers, but the change before could not be written, as on a full disk.
        if (this.#failing.has(copy.keeper.server_name)) return
        await clearCopyFailure(db, projectId)
        done++
      } catch (error) {
        this.#failed(projectId, error)
        log[error instanceof Uncopied ? 'debug' : 'warn'](
          { err: error, project_id: projectId },
          'failed to copy a project to another server; retrying',
        )
        await recordCopyFailure(db, project, reasonOf(error))
      }
    })
    return done === tendedMax ? 'again' : null
  }

  #deadAfter(): number {
    return this.#deps.heartbeat.deadAfterSeconds()
  }

  #failed(projectId: string, error: unknown): void {
    if (hasNoCopy(error)) this.forget(projectId)
  }

  /** Tries again until then while no server takes the copy. Null: there is no server to wait for. */
  async #withCopy<T>(project: Homed, waiting: Waiting, use: (copy: Copy) => T | Promise<T>): Promise<T | null> {
    const otherClocks: string[] = []
    for (;;) {
      try {
        const copy = await this.#copyBy(project, waiting)
        return copy === null ? null : await use(copy)
      } catch (error) {
        if (!(error instanceof PeerFailure || error instanceof Uncopied)) throw error
        this.#failed(project.project_id, error)
        const refusing = error instanceof PeerFailure && error.kind === 'clock' ? error.server : null
        if (refusing !== null) otherClocks.push(refusing)
        // No clock is set right within this time.
        const isVain = refusing !== null && !(await hasKeepers(this.#deps.db, this.#deps.serverName, ...otherClocks))
        if (isVain || performance.now() + retryMs > waiting.until) {
          if (error.message !== beingMade) await recordCopyFailure(this.#deps.db, project, reasonOf(error))
          throw noCopy(error)
        }
        waiting.onWait?.(error.message)
        await pause(retryMs, new AbortController().signal)
      }
    }
  }

  /** A copy takes minutes to make. A change waits for the turn of others first, and then still gets one look. */
  #copyBy(project: Homed, { until, onWait }: Waiting): Promise<Copy | null> {
    const reason = () => this.#pending.get(project.project_id) ?? beingMade
    const slow = setTimeout(() => onWait?.(reason()), slowMs)
    return withDeadline(this.#copyOf(project), Math.max(until - performance.now(), lookMs), () => {
      throw new Uncopied(reason())
    }).finally(() => clearTimeout(slow))
  }

  /** The current copy, made when it is missing. Null: there is no server to wait for. One at a time per project. */
  async #copyOf(project: Homed): Promise<Copy | null> {
    const known = () => {
      const copy = this.#copies.get(project.project_id)
      return copy !== undefined && copy.epoch === project.home_epoch && !this.#isGivenUp(copy.keeper) ? copy : null
    }
    return (
      known() ??
      this.#deps.localLocks.run(`replica ${project.project_id}`, async () => known() ?? this.#findOrMake(project))
    )
  }

  async #findOrMake({ project_id, home_epoch }: Homed): Promise<Copy | null> {
    const { db, serverName } = this.#deps
    const project = await getProjectOrDeleted(db, project_id)
    // The fence of the caller refuses the change.
    if (project === null || project.home !== serverName || project.home_epoch !== home_epoch) return null
    const row = await findReplica(db, project_id)
    const keepers = await liveKeepers(db, { serverName, deadAfterSeconds: this.#deadAfter() })
    const kept = keepers.find(({ server_name }) => server_name === row?.server)
    if (row !== null && row.server !== serverName && kept === undefined && (await hasKeepers(db, serverName)))
      this.#noteSilent(row.server)
    if (row !== null && kept !== undefined && !this.#isGivenUp(kept)) {
      const held = await this.#heldAt(kept, row, project_id)
      const isCurrent = held !== null && held.epoch === home_epoch && row.epoch === home_epoch
      const refs = isCurrent ? await this.#withLater(row, held) : null
      if (held !== null && refs !== null) return this.#remember(copyAt(kept, project_id, { ...held, refs }))
      if (!kept.is_draining) return this.#fill(project, kept, held)
    } else if (row !== null && row.server !== serverName && !this.#isGivenUp({ server_name: row.server })) {
      // A drained server is taken away, and without another one there is nothing to wait for.
      if ((await hasKeepers(db, serverName)) || !(await isDraining(db, row.server)))
        throw new Uncopied(`The server with its copy, ${row.server}, is not running.`)
    }
    const open = keepers.filter((keeper) => !keeper.is_draining)
    const next = open.find((keeper) => !this.#isGivenUp(keeper)) ?? open[0] ?? keepers[0]
    if (next !== undefined) return this.#fill(project, next, await this.#heldAt(next, row, project_id))
    if (await hasKeepers(db, serverName)) throw noneRuns(await knownKeepers(db, serverName))
    return null
  }

  /** Null: it has no copy of the project. */
  #heldAt(keeper: Keeper, row: ReplicaRow | null, projectId: string): Promise<HeldReplica | null> {
    this.#pending.set(projectId, notAnswering(keeper, row))
    return this.#ask<HeldReplica>(keeper, { path: `${replicaPath}/${projectId}` }).catch(whenRefused)
  }

  /** Writes go on with the copy at the draining server until another one has it. */
  async #leaveDraining(project: ProjectRow): Promise<void> {
    const { db, serverName } = this.#deps
    const keepers = await liveKeepers(db, { serverName, deadAfterSeconds: this.#deadAfter() })
    const next = keepers.find((keeper) => !keeper.is_draining && !this.#isGivenUp(keeper))
    if (next !== undefined) await this.#fill(project, next, await this.#heldAt(next, null, project.project_id))
  }

  /** The copy has objects ahead of its refs, but only of what it acknowledged. Null: it is older than the log. */
  async #withLater(row: ReplicaRow, held: HeldReplica): Promise<HeldReplica['refs'] | null> {
    const refs = new Map(held.refs.map(({ ref, sha }) => [ref, sha]))
    const between = { after: held.seq, upTo: Math.max(held.seq, row.acknowledged_seq) }
    const changes = await changesAfter(this.#deps.db, { projectId: row.project_id, ...between })
    if (!isWholeLog(changes, between)) return null
    for (const change of changes)
      if (change.new_sha === null) refs.delete(change.ref)
      else refs.set(change.ref, change.new_sha)
    return [...refs].map(([ref, sha]) => ({ ref, sha }))
  }

  #remember(copy: Copy): Copy {
    this.#copies.set(copy.projectId, copy)
    return copy
  }

  /** Sends all refs with the objects that the server lacks. It has an earlier copy when `held` is not null. */
  async #fill(project: ProjectRow, keeper: Keeper, held: HeldReplica | null): Promise<Copy> {
    const { db, home, log } = this.#deps
    const { project_id, home_epoch: epoch } = project
    this.#pending.set(project_id, beingMade)
    const store = storeOf(this.#deps, project)
    // In this order: the refs may be newer than the number, and following the later changes ends with the same values.
    const seq = await lastSeq(db, project_id)
    const refs = await listRefsToCopy(db, store, project)
    const noted = project.managed ? [] : await notedKeptRefs(store.dir)
    const wants = [...new Set(refs.map(({ sha }) => sha))]
    const has = (held?.refs ?? []).map(({ sha }) => sha)
    const named = project.managed ? await rootsOf(db, project_id) : []
    const { pack, roots } = await packWithRoots(store, { wants, roots: named, has })
    const format = await objectFormat(store.dir).catch(() => 'sha1' as const)
    await failpoint('replica.before_fill')
    await this.#askLong(keeper, {
      path: `${replicaPath}/${project_id}/fill?epoch=${epoch}&seq=${seq}&format=${format}`,
      method: 'POST',
      body: packBody(JSON.stringify({ refs, noted, roots }), pack),
    }).catch((error: unknown) => {
      // Any server that takes copies takes a new one.
      if (error instanceof PeerFailure && error.kind === 'refused') this.#giveUp(keeper)
      throw error
    })
    await failpoint('replica.after_fill')
    const copy = copyAt(keeper, project_id, { epoch, refs })
    for (let upTo = seq; ;) {
      const row = { project_id, epoch, server: keeper.server_name, home: home!, applied: seq }
      if (await setReplica(db, { ...row, seq: upTo })) break
      const later = await changesAfter(db, { projectId: project_id, after: upTo })
      if (later.length === 0) throw new Uncopied('The project moved while its copy was made.')
      await this.#transfer(
        copy,
        store,
        later.flatMap(({ new_sha }) => new_sha ?? []),
      )
      upTo = later.at(-1)!.seq
      setTips(copy, later)
    }
    log.info({ project_id, server: keeper.server_name, refs: refs.length }, 'copied a project to another server')
    // Not before: a change that the copy before it has got is no tip of this one until it was sent here, too.
    return this.#remember(copy)
  }

  async #transfer(copy: Copy, store: Store, commits: string[], files?: HowToSend['files']): Promise<void> {
    const tips = new Set(copy.tips.values())
    const wants = [...new Set(commits)].filter((sha) => !copy.sent.has(sha) && !tips.has(sha))
    if (wants.length === 0) return
    const isKnown = wants.every((sha) => files?.commits.includes(sha))
    const has = [...copy.sent.keys(), ...tips]
    const read = isKnown ? ((await files?.read(has)) ?? null) : null
    const pack = () => packOf(store, { wants, has: has.slice(0, hasMax) }, { isChecked: true })
    const body = read === null ? packBody('', await pack()) : writeFiles(read)
    const path = `${replicaPath}/${copy.projectId}/${read === null ? 'objects' : 'files'}?epoch=${copy.epoch}`
    await failpoint('replica.before_send')
    const asked = { path, method: 'POST', body } as const
    await (body instanceof Uint8Array ? this.#ask(copy.keeper, asked) : this.#askLong(copy.keeper, asked))
    await failpoint('replica.after_send')
    for (const sha of wants) copy.sent.set(sha, true)
  }

  /** Sends what was acknowledged before the copy had it. */
  async #catchUp(project: Homed, store: Store): Promise<void> {
    const { db, localLocks } = this.#deps
    await localLocks.run(`changes for the replica ${project.project_id}`, async () => {
      const copy = await this.#copyOf(project)
      const row = await findReplica(db, project.project_id)
      // Another server than the one that gets these changes may have become the copy meanwhile.
      if (copy === null || row?.server !== copy.keeper.server_name) return
      const changes = await changesAfter(db, { projectId: project.project_id, after: row.acknowledged_seq })
      const last = changes.at(-1)
      if (last === undefined) return
      // A later save may have replaced one, whose objects are gone.
      const commits = changes.flatMap(({ new_sha }) => new_sha ?? [])
      const gone = new Set(await missingObjects({ dir: store.dir, remote: null }, commits))
      await this.#transfer(
        copy,
        store,
        commits.filter((sha) => !gone.has(sha)),
      )
      setTips(copy, changes)
      await setAcknowledged(db, { ...row, seq: last.seq })
    })
  }

  /** Of minutes, unless the server falls silent meanwhile. One that lost its power or its network closes no connection. */
  async #askLong(keeper: Keeper, asked: Question): Promise<void> {
    const silent = new AbortController()
    let answeredAt = performance.now()
    const look = async () => {
      if (await isAnswering(this.#deps, keeper)) answeredAt = performance.now()
      else if (performance.now() - answeredAt > silentMsMax) silent.abort()
    }
    const looks = setInterval(() => void look().catch(lookAgain), lookMs)
    try {
      await this.#ask(keeper, { ...asked, timeoutMs: fillMsMax, signal: silent.signal })
    } catch (error) {
      if (silent.signal.aborted) this.#giveUp(keeper)
      throw error
    } finally {
      clearInterval(looks)
    }
  }

  async #ask<T>(keeper: Keeper, asked: Question): Promise<T> {
    try {
      const answer = await askPeer<T>(this.#deps, keeper, { method: 'GET', timeoutMs: answerMsMax, ...asked })
      if (asked.method === 'POST') this.#failing.delete(keeper.server_name)
      if (!this.#failing.has(keeper.server_name)) this.#silentSince.delete(keeper.server_name)
      return answer
    } catch (error) {
      if (error instanceof PeerFailure && error.kind === 'silent') {
        this.#noteSilent(keeper.server_name)
        if (asked.method === 'POST') this.#failing.add(keeper.server_name)
      }
      if (error instanceof PeerFailure && error.kind === 'clock') this.#giveUp(keeper)
      throw error
    }
  }

  #noteSilent(server: string): void {
    if (!this.#silentSince.has(server)) this.#silentSince.set(server, performance.now())
  }

  /** It will not take the copy in the next seconds either. */
  #giveUp({ server_name }: Keeper): void {
    this.#silentSince.set(server_name, performance.now() - silentMsMax - 1)
  }

  #isGivenUp({ server_name }: Pick<Keeper, 'server_name'>): boolean {
    const since = this.#silentSince.get(server_name)
    if (since === undefined) return false
    const ms = performance.now() - since
    if (ms > forgivenMs) {
      this.#silentSince.delete(server_name)
      this.#failing.delete(server_name)
    }
    return ms > silentMsMax && ms <= forgivenMs
  }
}

function copyAt(keeper: Keeper, projectId: string, { epoch, refs }: Pick<HeldReplica, 'epoch' | 'refs'>): Copy {
  const tips = new Map(refs.map(({ ref, sha }) => [ref, sha]))
  return { projectId, keeper, epoch, tips, sent: new LRUCache<string, true>({ max: 2_000, ttl: sentMs }) }
}

function setTips({ tips }: Copy, changes: { ref: string; new_sha: string | null }[]): void {
  for (const { ref, new_sha } of changes)
    if (new_sha === null) tips.delete(ref)
    else tips.set(ref, new_sha)
}

/** The server has no such copy, or one of another home. */
function hasNoCopy(error: unknown): boolean {
  return error instanceof PeerFailure && (error.kind === 'refused' || error.kind === 'moved')
}

function whenRefused(error: unknown): null {
  if (hasNoCopy(error)) return null
  throw error
}
