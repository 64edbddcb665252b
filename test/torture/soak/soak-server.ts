/** Runs a server for an hour under everything at once, and judges whether it stays as it was after the first minutes. */
import { mkdirSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { randomFrom } from '../random.ts'
import { withSandboxes } from '../run.ts'
import { leaksInDatabase, type Process } from '../sandbox-leaks.ts'
import { rest } from '../session-chaos.ts'
import type { World } from '../world.ts'
import { LogReader } from './log.ts'
import { keepProject, placesFor } from './projects.ts'
import { growthInLife, judgeSamples, lineOf, type SoakReport } from './report.ts'
import { did, Outages, type Pace, type Soak } from './run.ts'
import { foldersOf, keepSampling } from './sample.ts'

export interface SoakOptions {
  sessions: number
  seed: number
  pace: Pace
  say: (line: string) => void
}

const minute = 60_000

/** Sessions go on while no server runs. */
const start = { sandboxes: true, warm: true, leaseSeconds: 120 }

export function paceOf({ minutes, restartMinutes }: { minutes: number; restartMinutes: number }): Pace {
  return {
    runMs: minutes * minute,
    warmUpMs: Math.min(10, minutes / 4) * minute,
    sampleMs: Math.min(15_000, minutes * 500),
    restartMs: restartMinutes === 0 ? Number.POSITIVE_INFINITY : restartMinutes * minute,
    projectMs: 8 * minute,
    pauseMs: { min: 15_000, max: 35_000 },
    fireMs: 2 * minute,
  }
}

/** For as long as the shortest of the periods for which the server keeps rows. */
const kept = Object.fromEntries(
  ['EVENTS', 'DELIVERIES', 'CHECKS', 'DEPLOYS', 'FIRINGS', 'TRANSCRIPTS', 'BRANCHES', 'AUDIT'].map((kind) => [
    `SVC_KEEP_${kind}`,
    '7d',
  ]),
)

type Ended = SoakReport & { problems: string[]; seen: Process[] }

export async function soakServer(options: SoakOptions): Promise<Ended> {
  const log = new LogReader()
  const serverOptions = (dir: string) => {
    mkdirSync(join(dir, 'tmp'))
    const backups = { SVC_BACKUP_DIR: join(dir, 'backups'), SVC_BACKUP_EVERY: '10m', SVC_BACKUP_KEEP: '3' }
    return { settings: { ...kept, ...backups, TMPDIR: join(dir, 'tmp') }, onOutput: log.hear }
  }
  return withSandboxes({ kinds: [], start, options: serverOptions }, (world, dir) => soak(world, { options, log, dir }))
}

interface Parts {
  options: SoakOptions
  log: LogReader
  dir: string
}

async function soak(world: World, { options, log, dir }: Parts): Promise<Ended> {
  const over = new AbortController()
  const { pace, seed, sessions, say } = options
  const soak: Soak = {
    ...{ world, pace, sessions, random: randomFrom(seed), projects: new Map(), done: {} },
    ...{ outages: new Outages(), problems: [], over: over.signal },
  }
  world.history.keeps = (entry) => entry.kind === 'cut' || (entry.kind === 'answer' && entry.status >= 500)
  const began = Date.now()
  let saidMs = 0
  const known = new Set<string>()
  const working = placesFor(sessions).map((place) => keepProject(soak, place))
  const restarting = keepRestarting(soak)
  const sampling = keepSampling(soak, {
    began,
    folders: () => foldersOf(soak, dir),
    taken(sample) {
      const finds = [...soak.problems, ...log.judge(soak.outages).found]
      for (const find of finds.filter((each) => !known.has(each))) say(`  ! ${find.slice(0, 600)}`)
      finds.forEach((find) => known.add(find))
      if (sample.atMs - saidMs < minute && pace.runMs > minute) return
      saidMs = sample.atMs
      say(lineOf(sample, finds.length))
    },
  })
  await delay(pace.runMs)
  over.abort()
  const ended = Date.now()
  await Promise.all([...working, restarting])
  const samples = await sampling
  const { found, explained } = log.judge(soak.outages, ended)
  const verdicts = judgeSamples(samples.all, pace)
  soak.problems.push(
    ...found.map((line) => `in the log: ${line}`),
    ...unexplainedAnswers(soak, ended),
    ...verdicts.filter(({ isFlat }) => !isFlat).map(({ name, first, last }) => `${name} grew from ${first} to ${last}`),
  )
  await inspect(soak, { dir, say })
  return {
    ...{ minutes: (ended - began) / minute, samples: samples.all, verdicts, done: soak.done, explained },
    ...{ readyMs: world.server.readyMs, growthInLife: growthInLife(samples.all), problems: soak.problems },
    slowestLagMs: Math.max(0, ...samples.all.map(({ figures }) => figures['event loop lag'] ?? 0)),
    seen: samples.inSandboxes,
  }
}

/** Stops the server and kills it in turn. Sessions go on meanwhile. */
async function keepRestarting(soak: Soak): Promise<void> {
  const { server } = soak.world
  if (soak.pace.restartMs === Number.POSITIVE_INFINITY) return
  for (let n = 0; ; n++) {
    await delay(soak.pace.restartMs, null, { signal: soak.over }).catch(() => null)
    if (soak.over.aborted) return
    const how = n % 2 === 0 ? 'SIGTERM' : 'SIGKILL'
    const { answered } = soak.outages.begin(how)
    const code = await server.kill(how)
    if (how === 'SIGTERM' && code !== 0) soak.problems.push(`a stop of the server ended with ${code}`)
    await server.start(start)
    answered()
    did(soak, `restarts after ${how}`)
  }
}

/** What clients got while nothing was done to the server. */
function unexplainedAnswers({ world, outages }: Soak, untilMs: number): string[] {
  return world.history.read().flatMap((entry) => {
    if (entry.at > untilMs || outages.explains(entry.at)) return []
    if (entry.kind === 'cut') return [`no answer to ${entry.key}`]
    return entry.kind === 'answer' ? [`${entry.status} to ${entry.key}: ${JSON.stringify(entry.body)}`] : []
  })
}

/** The server comes to rest, agrees with itself, and its backup becomes another server that does. */
async function inspect(soak: Soak, { dir, say }: { dir: string; say: (line: string) => void }): Promise<void> {
  const { world, problems } = soak
  const { server } = world
  world.projects = [...soak.projects.values()]
  await rest(world, { problems })
  problems.push(...(await leaksInDatabase(await server.databaseUrl())))
  const backups = join(dir, 'backups')
  const elsewhere = join(dir, 'restored')
  await mkdir(elsewhere)
  await cp(join(server.dir, 'master.key'), join(elsewhere, 'master.key'))
  const place = {
    HOME: elsewhere,
    SVC_DATA_DIR: join(elsewhere, 'data'),
    SVC_MASTER_KEY_FILE: join(elsewhere, 'master.key'),
    SVC_CONFIG_FILE: join(elsewhere, 'config.json'),
  }
  const steps: [string[], Record<string, string>][] = [
    [['check'], {}],
    [['backup', backups, '--keep', '3'], {}],
    [['restore', backups], place],
    [['check'], place],
  ]
  for (const [args, settings] of steps) {
    const { code, stdout, stderr } = await onceFree(() => server.svc(['self-host', ...args], settings))
    say(`svc self-host ${args[0]}: ${stdout.trim().split('\n').at(-1)}`)
    if (code !== 0) problems.push(`svc self-host ${args[0]} ended with ${code}: ${stdout}${stderr}`)
  }
}

/** The server's own backup may be under way; the message tells an operator to wait for it. */
async function onceFree(run: () => ReturnType<World['server']['svc']>): ReturnType<World['server']['svc']> {
  const deadline = Date.now() + 2 * minute
  for (;;) {
    const done = await run()
    if (!done.stderr.includes('Another backup') || Date.now() > deadline) return done
    await delay(500)
  }
}
