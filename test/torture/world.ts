/** A server that keeps being killed, a repository of each kind, and clients that continue until their work is merged. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ChangeRequest, ErrorBody, Project } from '@svc/contract'
import { type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { History } from './history.ts'
import { commitEach, gitIn, pushOutside } from './repositories.ts'
import { TortureServer } from './server.ts'

/** Managed by the service, on an HTTP host, or in a folder of the same machine. */
export const repositoryKinds = ['managed', 'external', 'file'] as const
export type RepositoryKind = (typeof repositoryKinds)[number]

export interface TortureProject {
  kind: RepositoryKind
  id: string
  /** Where its branches are. */
  dir: string
  /** Where the service stores its data. */
  storeDir: string
}

export interface Change {
  project: TortureProject
  branch: string
  file: string
  head: string
  crId: string | null
  merge: MergeAnswer | null
}

export interface MergeAnswer {
  change_request: ChangeRequest
  merge: { merge_commit_sha: string; base_sha_before: string; fast_forward: boolean; up_to_date: boolean }
}

export interface Reply<Body> {
  status: number
  body: Body
}

/** Merges queue, and each tries three times while an external client keeps pushing. */
const requestMsMax = 180_000
/** A client that waits longer than this is stuck, whatever happened to the server. */
const stuckMs = 180_000

export class World {
  readonly servers: TortureServer[] = []
  readonly history: History
  readonly changes: Change[] = []
  projects: TortureProject[] = []
  /** Where clients send requests instead of the servers in turn. */
  front: string | null = null
  /** How long a client waits for an answer before it repeats the request. */
  requestMs = requestMsMax
  readonly #dir: string
  readonly #repos: TestRepository[] = []
  #host: HttpBackend | null = null
  #made = 0
  #asked = 0

  private constructor(dir: string) {
    this.#dir = dir
    this.history = new History(join(dir, 'history.jsonl'))
  }

  static async make(server: TortureServer): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), 'svc-torture-world-')))
    world.servers.push(server)
    return world
  }

  get server(): TortureServer {
    return this.servers[0]!
  }

  /** One project of each of these kinds. Needs a running server. */
  async makeProjects(kinds: readonly RepositoryKind[] = repositoryKinds): Promise<void> {
    for (const kind of kinds) this.projects.push(await this.#makeProject(kind))
  }

  async #makeProject(kind: RepositoryKind): Promise<TortureProject> {
    const repo = kind === 'managed' ? null : await makeRepo({ main: { 'README.md': 'hello\n' } })
    if (repo !== null) {
      this.#repos.push(repo)
      // Its own maintenance would remove packs that external clients still use, since they write past all locks.
      await gitIn(repo.dir, ['config', 'receive.autogc', 'false'])
    }
    if (repo !== null && kind === 'external') this.#host = await serveHttpBackend(repo.dir)
    const address = repo === null ? {} : { repo_url: kind === 'external' ? this.#host!.url : `file://${repo.dir}` }
    const made = await this.ask<Project>('POST', '/v1/projects', { name: kind, ...address })
    if (made.status !== 201) throw new Error(`The project was not made: ${JSON.stringify(made)}`)
    const id = made.body.project_id
    const storeDir = join(this.server.dataDir, repo === null ? 'repositories' : 'mirrors', `${id}.git`)
    const dir = repo?.dir ?? storeDir
    if (repo === null) await commitEach(dir, [{ branch: 'main', file: 'README.md', from: null }])
    return { kind, id, dir, storeDir }
  }

  /** Branches with one new file each. Every fourth starts at the current base, so that some fast-forward. */
  async makeChanges(project: TortureProject, count: number): Promise<Change[]> {
    const names = Array.from({ length: count }, () => `work-${++this.#made}`)
    const root = await this.#rootOf(project)
    const heads = await commitEach(
      project.dir,
      names.map((branch, n) => ({ branch, file: `${branch}.txt`, from: n % 4 === 3 ? 'refs/heads/main^0' : root })),
    )
    const made = names.map((branch, n): Change => {
      return { project, branch, file: `${branch}.txt`, head: heads[n]!, crId: null, merge: null }
    })
    this.changes.push(...made)
    return made
  }

  readonly #roots = new Map<string, string>()
  async #rootOf(project: TortureProject): Promise<string> {
    const known = this.#roots.get(project.id) ?? (await gitIn(project.dir, ['rev-parse', 'refs/heads/main']))
    this.#roots.set(project.id, known)
    return known
  }

  async pushOutside(project: TortureProject, ref = 'main'): Promise<void> {
    const file = `outside-${++this.#made}.txt`
    const sha = await pushOutside(project.dir, ref, file)
    if (sha !== null) this.history.write({ kind: 'pushed', project: project.id, ref, sha, file })
  }

  path(change: Change, verb = ''): string {
    return `/v1/projects/${change.project.id}/change-requests${change.crId === null ? '' : `/${change.crId}`}${verb}`
  }

  async open(change: Change): Promise<void> {
    const body = { title: `Work of ${change.branch}`, head_ref: change.branch }
    const opened = await this.insist<ChangeRequest>('POST', this.path(change), body, `open-${change.branch}`)
    if (opened.status !== 201) throw new Error(`${change.branch} was not opened: ${JSON.stringify(opened)}`)
    change.crId = opened.body.cr_id
  }

  /** Opens and merges a change, however many attempts that takes. */
  async carry(change: Change, options: { refusedFirst?: boolean } = {}): Promise<void> {
    await this.open(change)
    if (options.refusedFirst === true) await this.#mergeWrongly(change)
    const merged = await this.merge(change)
    if (merged.status !== 200) throw new Error(`${change.branch} was not merged: ${JSON.stringify(merged)}`)
    change.merge = merged.body
  }

  merge(change: Change): Promise<Reply<MergeAnswer>> {
    const body = { expected_head_sha: change.head }
    return this.insist<MergeAnswer>('POST', this.path(change, '/merge'), body, `merge-${change.branch}`)
  }

  /** Asks once; `which` tells apart the mergers of one change. */
  mergeOnce(change: Change, which = ''): Promise<Reply<MergeAnswer & { code?: string }>> {
    const body = { expected_head_sha: change.head }
    return this.ask('POST', this.path(change, '/merge'), body, `merge-${change.branch}${which}`)
  }

  async #mergeWrongly(change: Change): Promise<void> {
    const body = { expected_head_sha: '0'.repeat(40) }
    const reply = await this.insist<ErrorBody>('POST', this.path(change, '/merge'), body, `wrong-${change.branch}`)
    if (reply.body.code !== 'head_moved')
      throw new Error(`A merge of an unseen head was answered so: ${JSON.stringify(reply)}`)
  }

  /** Repeats a request until the response is neither a broken connection nor a temporary refusal. */
  async insist<Body>(method: string, path: string, body: object | null, key: string): Promise<Reply<Body>> {
    const deadline = Date.now() + stuckMs
    for (;;) {
      const reply = await this.ask<Body & Partial<ErrorBody>>(method, path, body, key).catch(() => null)
      if (reply !== null && !isPassing(reply)) return reply
      if (Date.now() > deadline) throw new Error(`${method} ${path} (${key}) is stuck: ${JSON.stringify(reply)}`)
      await delay(reply === null ? 50 : 100)
    }
  }

  async ask<Body>(method: string, path: string, body: object | null = null, key?: string): Promise<Reply<Body>> {
    // Alternates between the servers.
    const server = this.servers[this.#asked++ % this.servers.length]!
    const name = key ?? `unkeyed-${this.#asked}`
    this.history.write({ kind: 'ask', key: name, method, path, body })
    try {
      const response = await fetch((this.front ?? server.url) + path, {
        method,
        headers: {
          authorization: `Bearer ${server.token}`,
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...(body === null ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === null ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(this.requestMs),
      })
      const text = await response.text()
      const answer = (text === '' ? null : JSON.parse(text)) as Body
      this.history.write({ kind: 'answer', key: name, status: response.status, body: answer })
      return { status: response.status, body: answer }
    } catch (error) {
      this.history.write({ kind: 'cut', key: name })
      throw error
    }
  }

  /** With `keep` it leaves what the servers stored, and prints where the history is and their last output. */
  async close({ keep = false } = {}): Promise<void> {
    if (keep) process.stdout.write(`history: ${this.history.path} (kept)\n`)
    for (const server of this.servers) {
      if (keep) process.stdout.write(`${server.output.slice(-5000)}\n`)
      if (server.isRunning) await server.kill(keep ? 'SIGKILL' : 'SIGTERM')
    }
    await this.#host?.close()
    if (keep) return
    for (const repo of this.#repos) await repo.remove()
    await this.server.remove()
    await rm(this.#dir, { recursive: true, force: true })
  }
}

const passing = new Set(['idempotency_in_progress', 'base_moved'])

/** Refusals after which nothing was done, so the client sends the request again. */
function isPassing(reply: Reply<Partial<ErrorBody> | null>): boolean {
  return reply.status >= 500 || passing.has(reply.body?.code ?? '')
}
