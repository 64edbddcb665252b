/** Where each project has its home, as this server knows it: from the database, and for some seconds from memory. */
import { LRUCache } from 'lru-cache'
import { allow } from '../auth/allow.ts'
import { authenticate } from '../auth/authenticate.ts'
import { sha256 } from '../auth/credentials.ts'
import { getAppByHost } from '../apps/store.ts'
import type { Deps } from '../deps.ts'
import { homeOf, projectsNamed } from '../projects/home-store.ts'
import { ServiceError } from '@svc/contract'
import type { Located } from './locate.ts'
import { isAnswering } from './reachable.ts'
import { emptiestPeers, lastSeen, livePeer, type Peer, projectOfCredential, projectOfSandbox } from './store.ts'

/** A home that moved answers for itself, so an old answer costs a retry and nothing else. */
const homeMs = 5_000
/** A move takes seconds. Longer than this, and the client tries again. */
const moveMsMax = 20_000
/** A server that died or restarted. */
const peerMs = 1_000

/** `absent`: the home does not run. `isMoving`: new writes wait until the project has moved, or stays. */
export type Destination =
  | { kind: 'here'; projectId: string | null; isMoving: boolean }
  | { kind: 'peer'; peer: Peer; projectId: string | null; isMoving: boolean }
  | { kind: 'absent'; home: string; projectId: string | null; lastSeen: string | null; isMoving: false }

const here: Destination = { kind: 'here', projectId: null, isMoving: false }
interface Home {
  home: string | null
  isMoving: boolean
}
const nowhere: Home = { home: null, isMoving: false }
type Caller = Parameters<typeof authenticate>[1]

export class Homes {
  readonly #deps: Deps
  readonly #homes = new LRUCache<string, Home>({ max: 50_000, ttl: homeMs })
  readonly #peers = new LRUCache<string, { peer: Peer | null }>({ max: 1_000, ttl: peerMs })
  /** The project of a session, a sandbox or a credential, which never changes. */
  readonly #projects = new LRUCache<string, string>({ max: 50_000 })
  readonly #labels = new LRUCache<string, { projectId: string | null }>({ max: 10_000, ttl: homeMs })

  /** What was read before a change arrived is not remembered. */
  #changes = 0

  constructor(deps: Deps) {
    this.#deps = deps
    deps.homeGate.onChange((projectId) => {
      this.#changes++
      this.forget(projectId)
    })
  }

  /** The project, when this server is its home and it stays: without a lookup, for the common case. */
  known(located: Located): string | undefined {
    const projectId =
      located.kind === 'project' ? located.id : located.kind === 'sandbox' ? this.#projects.get(located.id) : undefined
    if (projectId === undefined || this.#deps.homeGate.isClosed(projectId)) return undefined
    const known = this.#homes.get(projectId)
    return known !== undefined && !known.isMoving && this.#isHere(known.home) ? projectId : undefined
  }

  async destination(located: Located, caller: Caller): Promise<Destination> {
    const { config, db, serverName } = this.#deps
    if (located.kind === 'new project') {
      const peer = await this.#emptiest()
      if (peer === null && !config.roles.worker)
        throw new ServiceError('unavailable', 'No server that keeps projects is running.', {
          hint: 'Try again in a moment. If it fails for minutes, ask the operator of this service.',
        })
      return peer === null || peer.server_name === serverName
        ? here
        : { kind: 'peer', peer, projectId: null, isMoving: false }
    }
    const projectId = await this.#projectOf(located, caller)
    const { home, isMoving } = projectId === null ? nowhere : await this.#homeOf(projectId)
    if (home === null || this.#isHere(home)) return { kind: 'here', projectId, isMoving }
    const peer = await this.#peer(home)
    return peer === null
      ? { kind: 'absent', home, projectId, lastSeen: await lastSeen(db, home), isMoving: false }
      : { kind: 'peer', peer, projectId, isMoving }
  }

  /** The same for a request that another server sent here: null when this server is not the home at this moment. */
  async ifHome(located: Located, caller: Caller): Promise<Extract<Destination, { kind: 'here' }> | null> {
    if (located.kind === 'new project') return { kind: 'here', projectId: null, isMoving: false }
    const projectId = await this.#projectOf(located, caller)
    if (projectId === null) return { kind: 'here', projectId, isMoving: false }
    let known = await this.#homeOf(projectId)
    if (!this.#isHere(known.home)) {
      this.forget(projectId)
      known = await this.#homeOf(projectId)
    }
    return this.#isHere(known.home) ? { kind: 'here', projectId, isMoving: known.isMoving } : null
  }

  /** Waits until a project stays where it is, or has moved. False when that takes longer than a client would wait. */
  untilMoved(projectId: string): Promise<boolean> {
    return this.#deps.homeGate.until(projectId, moveMsMax, async () => {
      this.forget(projectId)
      return !(await this.#homeOf(projectId)).isMoving
    })
  }

  async isLive(serverName: string): Promise<boolean> {
    return (await this.#peer(serverName)) !== null
  }

  forget(projectId: string): void {
    this.#homes.delete(projectId)
  }

  /** A project without a home is one that this server does not know, or that a server of an earlier version made. */
  #isHere(home: string | null): boolean {
    return home === null || home === this.#deps.serverName
  }

  async #homeOf(projectId: string): Promise<Home> {
    const { homeGate, db } = this.#deps
    const known = homeGate.isClosed(projectId) ? undefined : this.#homes.get(projectId)
    if (known !== undefined) return known
    const changes = this.#changes
    const row = await homeOf(db, projectId)
    if (row === null) return nowhere
    // The home itself answers writes until its gate closes, and waits for those that it has begun.
    const isMoving = this.#isHere(row.home)
      ? homeGate.isClosed(projectId) || row.home_state === 'frozen'
      : row.home_state !== 'open'
    const home = { home: row.home, isMoving }
    if (changes === this.#changes) this.#homes.set(projectId, home)
    return home
  }

  async #peer(serverName: string): Promise<Peer | null> {
    const known = this.#peers.get(serverName)
    if (known !== undefined) return known.peer
    const peer = await livePeer(this.#deps.db, { serverName, deadAfterSeconds: this.#deadAfter() })
    this.#peers.set(serverName, { peer })
    return peer
  }

  /**
   * The emptiest server that answers, asked before anything of the request is sent: what has been sent to one may be
   * made there, and is never sent to another. When none answers, the emptiest, for the error to name.
   */
  async #emptiest(): Promise<Peer | null> {
    const { db, serverName } = this.#deps
    const peers = await emptiestPeers(db, { serverName, deadAfterSeconds: this.#deadAfter() })
    for (const peer of peers) if (peer.server_name === serverName || (await isAnswering(this.#deps, peer))) return peer
    return peers[0] ?? null
  }

  #deadAfter(): number {
    return this.#deps.heartbeat.deadAfterSeconds()
  }

  async #projectOf(located: Exclude<Located, { kind: 'new project' }>, caller: Caller): Promise<string | null> {
    const { db } = this.#deps
    switch (located.kind) {
      case 'project':
        return located.id
      case 'slug':
        return this.#projectNamed(located.slug, caller)
      case 'sandbox':
        return this.#remembered(located.id, () => projectOfSandbox(db, located.id))
      case 'credential': {
        const hash = sha256(located.token)
        return this.#remembered(hash.toString('base64'), () => projectOfCredential(db, hash))
      }
      case 'app': {
        const known = this.#labels.get(located.label)
        if (known !== undefined) return known.projectId
        const projectId = (await getAppByHost(db, located.label))?.project_id ?? null
        this.#labels.set(located.label, { projectId })
        return projectId
      }
      default:
        return located satisfies never
    }
  }

  async #remembered(key: string, find: () => Promise<string | null>): Promise<string | null> {
    const known = this.#projects.get(key)
    if (known !== undefined) return known
    const found = await find()
    if (found !== null) this.#projects.set(key, found)
    return found
  }

  /** Only where projects of several accounts share a slug does it take the caller to choose. */
  async #projectNamed(slug: string, caller: Caller): Promise<string | null> {
    const named = await projectsNamed(this.#deps.db, slug)
    if (named.length < 2) return named[0]?.project_id ?? null
    try {
      const actor = await authenticate(this.#deps, caller)
      const { project } = await allow(this.#deps, { access: 'project-read', actor, projectId: slug, sessionId: null })
      return project?.project_id ?? null
    } catch (error) {
      // This server refuses the request itself, with the same error.
      if (error instanceof ServiceError) return null
      throw error
    }
  }
}
