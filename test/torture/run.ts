/** Shared by the programs of the torture: their flags, their PostgreSQL, their servers, and their report. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../../packages/server/src/db/embedded/postgres.ts'
import { layDatabase } from '../e2e/harness.ts'
import { buildTortureProgram } from './program.ts'
import { leaksOnMachine, type Process } from './sandbox-leaks.ts'
import { TortureServer, type TortureServerOptions } from './server.ts'
import { type RepositoryKind, repositoryKinds, World } from './world.ts'

type Values<Defaults> = {
  [Name in keyof Defaults]: Defaults[Name] extends number ? number : Defaults[Name] extends boolean ? boolean : string
}

/** The flags of the command line, each a number, a switch or a text as its default is. Others end the program with code 2. */
export function flags<Defaults extends Record<string, number | boolean | string>>(
  defaults: Defaults,
): Values<Defaults> {
  const types = Object.entries(defaults).map(([name, value]) => {
    return [name, { type: typeof value === 'boolean' ? ('boolean' as const) : ('string' as const) }]
  })
  const refuse = (why: string): never => {
    const known = Object.keys(defaults).map((name) => `--${name}`)
    console.error(`${why} This run takes ${known.join(', ')}. See docs/engineering/torture.md.`)
    process.exit(2)
  }
  const { values, tokens } = parseArgs({
    options: Object.fromEntries(types) as Record<string, { type: 'boolean' | 'string' }>,
    ...{ strict: false, tokens: true },
  })
  for (const token of tokens ?? []) {
    if (token.kind !== 'option') refuse(`Unexpected argument ${process.argv[token.index + 2]}.`)
    else if (!(token.name in defaults)) refuse(`Unknown flag --${token.name}.`)
    else if (token.value === undefined && typeof defaults[token.name] !== 'boolean')
      refuse(`--${token.name} takes a value.`)
  }
  const read = Object.entries(defaults).map(([name, value]) => {
    const given = values[name] ?? value
    if (typeof value !== 'number') return [name, given]
    return [name, Number.isFinite(Number(given)) ? Number(given) : refuse(`--${name} takes a number, not ${given}.`)]
  })
  return Object.fromEntries(read) as Values<Defaults>
}

/** All kinds, or the one that `--only` names. */
export function kindsOf(only: string): RepositoryKind[] {
  return repositoryKinds.filter((kind) => only === '' || kind === only)
}

/** Runs `work` with a PostgreSQL that no server brings along, and a folder for its files. */
export async function withPostgres<T>(work: (url: string, home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'svc-torture-home-'))
  const quiet = { info() {}, debug() {}, error: (_: object, message: string) => process.stderr.write(`${message}\n`) }
  await layDatabase(home)
  // Its own limit is that of one server.
  const settings = { max_connections: '200' }
  const cluster = await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), log: quiet, settings })
  try {
    return await work(cluster.connectionString, home)
  } finally {
    await cluster.stop()
    await rm(home, { recursive: true, force: true })
  }
}

/**
 * Runs `work` in a world of several servers, started one after the other; the first one makes the projects. What they stored is
 * kept for a look at the problems.
 */
export async function withServers<T extends { problems: string[] }>(
  { kinds, count = 1, ...given }: ServersWanted,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const optionsOf = (n: number) => ({ ...given.shared, ...given.each?.(n) })
  const world = await World.make(await TortureServer.make(optionsOf(0)))
  let keep = true
  try {
    await world.server.start()
    await world.makeProjects(kinds)
    for (let n = 1; n < count; n++) {
      const other = await TortureServer.make({ ...optionsOf(n), beside: world.server })
      await other.start()
      world.servers.push(other)
    }
    const report = await work(world)
    keep = report.problems.length > 0
    return report
  } finally {
    await world.close({ keep })
  }
}

interface ServersWanted {
  kinds: readonly RepositoryKind[]
  count?: number
  shared?: TortureServerOptions
  each?: (n: number) => TortureServerOptions
}

/**
 * Runs `work` in a world whose server starts sandboxes, and adds what they left behind to its problems. `dir` is for files of the
 * run beside the server's.
 */
export async function withSandboxes<Report extends { problems: string[]; seen: Process[] }>(
  { kinds, start, ...wanted }: SandboxesWanted,
  work: (world: World, dir: string) => Promise<Report>,
): Promise<Report> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-ts-'))
  const program = await buildTortureProgram(dir)
  const world = await World.make(await TortureServer.make({ program, ...wanted.options?.(dir) }))
  const { server } = world
  try {
    await server.start({ ...start, sandboxes: true })
    await world.makeProjects(kinds)
    const report = await work(world, dir)
    report.problems.push(...(await leaksAfterEnd(server, report.seen)))
    return report
  } finally {
    await world.close()
    await rm(dir, { recursive: true, force: true })
  }
}

/** A stop has seconds. Where they are too few for all sandboxes, the next server ends the others. */
async function leaksAfterEnd(server: TortureServer, seen: Process[]): Promise<string[]> {
  await server.stopWithSessions()
  if (leaksOnMachine(server.dataDir, seen).length === 0) return []
  console.log(`not everything ended within the time of a stop:\n${server.output.slice(-1_000)}`)
  await server.start({ sandboxes: true })
  await server.stopWithSessions()
  return leaksOnMachine(server.dataDir, seen)
}

interface SandboxesWanted {
  kinds: readonly RepositoryKind[]
  options?: (dir: string) => TortureServerOptions
  start?: Parameters<TortureServer['start']>[0]
}

/** Prints how long the program took and its problems, and ends it. */
export function conclude(problems: string[], kind = 'problems'): never {
  console.log(`${(performance.now() / 60_000).toFixed(1)} min`)
  console.log(`${problems.length} ${kind}`)
  for (const problem of problems.slice(0, 50)) console.log(`  ${problem.slice(0, 600)}`)
  process.exit(problems.length > 0 ? 1 : 0)
}
