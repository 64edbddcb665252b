/** Measures a server at work again and again: its processes, its rows, its disk, and what it says of itself. */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Process, runDirOf } from '../sandbox-leaks.ts'
import { type ProcessFigures, readProcesses } from './processes.ts'
import type { Soak } from './run.ts'
import { ageRows, countRows, diskOf, readMetrics, type ServerMetrics } from './stored.ts'

export interface Sample {
  /** Since the beginning of the run. */
  atMs: number
  /** Since the server was ready. */
  lifeMs: number
  figures: Record<string, number>
  done: Record<string, number>
}

export interface Samples {
  all: Sample[]
  /** Of the last sample. */
  inSandboxes: Process[]
}

/** Rows are made older so often. */
const ageEveryMs = 60_000

export async function keepSampling(
  soak: Soak,
  input: { began: number; folders: () => Record<string, string>; taken: (sample: Sample) => void },
): Promise<Samples> {
  const { world, outages, pace, over } = soak
  const samples: Samples = { all: [], inSandboxes: [] }
  const failures = new FailureWatch(soak)
  let agedAt = 0
  while (!over.aborted) {
    await delay(pace.sampleMs, null, { signal: over }).catch(() => null)
    const since = outages.all.at(-1)?.toMs ?? input.began
    // The last answers before a restart are with the next server.
    if (over.aborted || since > Date.now()) continue
    try {
      const url = await world.server.databaseUrl()
      if (Date.now() - agedAt > ageEveryMs) {
        await ageRows(url)
        agedAt = Date.now()
      }
      const processes = readProcesses(world.server, pace.warmUpMs)
      samples.inSandboxes = processes.inSandboxes
      const metrics = await readMetrics(world.server)
      failures.take(metrics)
      const figures = {
        ...ofProcesses(processes),
        ...ofMetrics(metrics),
        ...prefixed('rows of ', await countRows(url)),
        ...prefixed('disk of ', await diskOf(input.folders())),
      }
      const sample = { atMs: Date.now() - input.began, lifeMs: Date.now() - since, figures, done: { ...soak.done } }
      samples.all.push(sample)
      input.taken(sample)
    } catch (error) {
      // The server was stopped meanwhile, so the sample is incomplete.
      if (!outages.explains(Date.now() - pace.sampleMs, Date.now())) soak.problems.push(`no sample: ${String(error)}`)
    }
  }
  return samples
}

export function foldersOf(soak: Soak, dir: string): Record<string, string> {
  const { dataDir } = soak.world.server
  const stays = soak.projects.get(0)
  return {
    ...(stays === undefined ? {} : { 'the repository that stays': stays.storeDir }),
    'other repositories': join(dataDir, 'repositories'),
    mirrors: join(dataDir, 'mirrors'),
    'the write-ahead log': join(dataDir, 'postgres/pg_wal'),
    'the database': join(dataDir, 'postgres'),
    'running sandboxes': runDirOf(dataDir),
    'the rest of the data folder': dataDir,
    backups: join(dir, 'backups'),
    'temporary files': join(dir, 'tmp'),
  }
}

function ofProcesses({ kinds, old, zombies, total }: ProcessFigures): Record<string, number> {
  const figures: Record<string, number> = { processes: total, zombies }
  for (const [kind, { count, memoryMb, memoryMaxMb, handles, handlesMax, threads }] of Object.entries(kinds))
    Object.assign(figures, {
      [`processes: ${kind}`]: count,
      [`memory: ${kind}`]: memoryMb,
      [`memory of the largest: ${kind}`]: memoryMaxMb,
      [`handles: ${kind}`]: handles,
      [`most handles: ${kind}`]: handlesMax,
      [`threads: ${kind}`]: threads,
    })
  if (old.count > 0)
    Object.assign(figures, {
      'processes: old daemon': old.count,
      'memory: old daemon': old.memoryMb,
      'handles: old daemon': old.handles,
    })
  return figures
}

function ofMetrics({ lagMs, connections, databaseConnections }: ServerMetrics): Record<string, number> {
  return { 'event loop lag': lagMs, connections, 'connections to the database': databaseConnections }
}

function prefixed(prefix: string, figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [prefix + name, value]))
}

/** Answers of 500 and above that the server counted while nothing was done to it. */
class FailureWatch {
  readonly #soak: Soak
  #last: { atMs: number; life: number; failures: Record<string, number> } = { atMs: 0, life: -1, failures: {} }

  constructor(soak: Soak) {
    this.#soak = soak
  }

  take({ failures }: ServerMetrics): void {
    const { outages, problems } = this.#soak
    const life = outages.all.length
    const before = this.#last.life === life ? this.#last : { atMs: Date.now(), failures: {} }
    for (const [what, count] of Object.entries(failures)) {
      const more = count - ((before.failures as Record<string, number>)[what] ?? 0)
      if (more > 0 && !outages.explains(before.atMs, Date.now())) problems.push(`answered ${more} times: ${what}`)
    }
    this.#last = { atMs: Date.now(), life, failures }
  }
}
