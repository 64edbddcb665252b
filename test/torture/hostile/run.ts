/** Sends one hostile repository after another, both ways, to a server that has other work. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChangeRequest } from '@svc/contract'
import { type HttpBackend, serveHttpBackend } from '@svc/git/testing'
import { commitEach } from '../repositories.ts'
import { TortureServer } from '../server.ts'
import { Bystander, type Read } from './bystander.ts'
import type { Hostile } from './programs.ts'
import { HostileRepository } from './repository.ts'
import { hostMark, setTraps, type Traps } from './traps.ts'
import { type Visit, Visitor } from './visit.ts'
import { watch, type Watch } from './watch.ts'
import { pushedRaw } from './raw-push.ts'
import { type Arrival, createProject, pushed, served } from './ways.ts'

/** By git's client, by raw bytes, or from a host. */
export const allWays = ['pushed', 'raw', 'served'] as const
export type Way = (typeof allWays)[number]

export interface Finding {
  name: string
  way: Way
  visits: Visit[]
  refused: string[]
  problems: string[]
  slowestMs: number
  moreBytes: number
  /** The largest users: `server 120, git index-pack 300`, in MiB. */
  users: string
  /** How long readers of another project waited meanwhile. */
  othersMs: number[]
  /** The same beside one response. */
  othersBeside: (visit: Visit) => number[]
}

/** The server's own programs. `bun` is a server thread that is about to become one of them. */
const harmless = /^(git|git-remote-http|prlimit|bun.*|.*\(.*|HTTP Client|exe)$/

interface Parts {
  server: TortureServer
  traps: Traps
  bystander: Bystander
  watch: Watch
  dir: string
  host: HttpBackend
}

export class HostileWorld {
  readonly #parts: Parts
  #made = 0

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  get server(): TortureServer {
    return this.#parts.server
  }

  get traps(): Traps {
    return this.#parts.traps
  }

  get bystander(): Bystander {
    return this.#parts.bystander
  }

  /** Needs an external database, since starting one runs other programs. */
  static async make(databaseUrl: string): Promise<HostileWorld> {
    const dir = await mkdtemp(join(tmpdir(), 'svc-hostile-'))
    await mkdir(join(dir, 'traps'))
    const traps = await setTraps(join(dir, 'traps'))
    const server = await TortureServer.make({ databaseUrl, path: traps.path })
    await server.start()
    await mkdir(join(dir, 'repositories'))
    const host = await serveHttpBackend(join(dir, 'repositories', 'any.git'), {
      givesWay: true,
      env: { [hostMark]: '1' },
    })
    const bystander = new Bystander(await bystandersProject(server))
    return new HostileWorld({ server, traps, bystander, watch: watch(() => server.pid), dir, host })
  }

  async meet(hostile: Hostile, ways: Way[]): Promise<Finding[]> {
    const id = `r${++this.#made}`
    const repo = new HostileRepository(join(this.#parts.dir, 'repositories', `${id}.git`), this.#parts.traps)
    await repo.init()
    await hostile.make(repo)
    const findings: Finding[] = []
    for (const way of ways) findings.push(await this.#meetBy(way, hostile, repo, id))
    await rm(repo.dir, { recursive: true, force: true })
    return findings
  }

  async #meetBy(way: Way, hostile: Hostile, repo: HostileRepository, id: string): Promise<Finding> {
    this.#parts.watch.restart()
    const before = new Set(await this.#parts.traps.touched())
    const url = `${new URL(this.#parts.host.url).origin}/${id}.git`
    const { done: arrived, reads } = await this.bystander.during(async () => {
      const arrival = await this.#bring(way, hostile, repo, url)
      const visitor = new Visitor(this.server, arrival.projectId ?? '00000000-0000-4000-8000-000000000000')
      if (arrival.projectId !== null) await visitor.everything(['README.md', ...(hostile.paths ?? [])])
      return { ...arrival, visits: visitor.visits }
    })
    const { visits, refused } = arrived
    const moreBytes = this.#parts.watch.peakBytes - this.#parts.watch.baseBytes
    const users = this.#parts.watch.peakUsers
      .slice(0, 3)
      .map(({ name, bytes }) => `${name} ${(bytes / 1024 / 1024).toFixed(0)}`)
      .join(', ')
    const touched = (await this.#parts.traps.touched()).filter((line) => !before.has(line))
    const strangers = [...this.#parts.watch.programs].filter((name) => !harmless.test(name))
    this.#parts.watch.programs.clear()
    const problems = [
      ...visits.flatMap(({ what, problem }) => (problem === null ? [] : [`${what}: ${problem}`])),
      ...touched.map((line) => `touched: ${line}`),
      ...strangers.map((name) => `ran: ${name}`),
      ...(moreBytes > 512 * 1024 * 1024 ? [`used ${(moreBytes / 1024 / 1024).toFixed(0)} MiB more`] : []),
      ...(this.server.isRunning ? [] : ['the server ended']),
    ]
    const slowestMs = Math.max(0, ...visits.map(({ ms }) => ms))
    const othersMs = reads.map(({ ms }) => ms)
    const isBeside = (read: Read, visit: Visit) =>
      read.beganAt < visit.beganAt + visit.ms && read.beganAt + read.ms > visit.beganAt
    const othersBeside = (visit: Visit) => reads.filter((read) => isBeside(read, visit)).map(({ ms }) => ms)
    return { name: hostile.name, way, visits, refused, problems, slowestMs, moreBytes, users, othersMs, othersBeside }
  }

  #bring(way: Way, hostile: Hostile, repo: HostileRepository, url: string): Promise<Arrival> {
    if (way === 'served') return served(this.server, url)
    const from = { dir: repo.dir, alsoPush: hostile.alsoPush ?? [] }
    return way === 'pushed' ? pushed(this.server, from, this.#parts.dir) : pushedRaw(this.server, from, this.#parts.dir)
  }

  async close(): Promise<void> {
    this.#parts.watch.stop()
    await this.bystander.stop()
    await this.#parts.host.close()
    await this.#parts.traps.close()
    await this.server.remove()
    await rm(this.#parts.dir, { recursive: true, force: true })
  }
}

async function bystandersProject(server: TortureServer): Promise<{ server: TortureServer; path: string }> {
  const project = await createProject(server, { name: 'bystander' })
  if (typeof project === 'string') throw new Error(project)
  const dir = join(server.dataDir, 'repositories', `${project.project_id}.git`)
  await commitEach(dir, [{ branch: 'main', file: 'README.md', from: null }])
  await commitEach(dir, [{ branch: 'work', file: 'work.txt', from: 'refs/heads/main^0' }])
  const path = `/v1/projects/${project.project_id}/change-requests`
  const { cr_id } = await server.send<ChangeRequest>('POST', path, { title: 'Honest work', head_ref: 'work' })
  return { server, path: `${path}/${cr_id}` }
}
