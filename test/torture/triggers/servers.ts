/** Kills three real servers on one database repeatedly while their clocks run, jump and disagree and svc.toml changes. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { until } from '../../e2e/harness.ts'
import { commitFiles } from '../repositories.ts'
import { keepKilling, type Kills } from '../lives.ts'
import { randomFrom } from '../random.ts'
import { withPostgres, withServers } from '../run.ts'
import { pointsOf } from '../scenarios.ts'
import type { TortureProject, World } from '../world.ts'
import { Clocks } from './clocks.ts'
import { Epochs } from './epochs.ts'
import { judge, type Judgement, type Leap, readTriggers } from './judge.ts'
import { definitions, hourChanges, manifestOf } from './manifest.ts'

export interface TriggersOptions {
  /** Ends with the first clock change after this many due times. */
  ticks: number
  seed: number
  servers: number
  /** Triggers that fire every minute. */
  many: number
  /** The time to run through before and after a clock change; the clocks jump over the rest. */
  beforeMs: number
  afterMs: number
  /** Milliseconds of the servers' clocks in one of ours. */
  rate: number
  lifeMs?: { min: number; max: number } | undefined
  killsMax?: number | undefined
  say?: (line: string) => void
}

export interface TriggersReport extends Judgement {
  kills: Kills
  leaps: { forward: number; back: number }
  edits: number
  looks: number
}

interface Run {
  options: TriggersOptions
  world: World
  random: () => number
  db: pg.Client
  clocks: Clocks
  epochs: Epochs
  project: TortureProject
  leaps: Leap[]
  report: Pick<TriggersReport, 'leaps' | 'edits' | 'looks'>
}

const minuteMs = 60_000
const disturbEveryMs = 2_000

/** The steps of a firing. */
const steps = [...pointsOf('triggers'), ...pointsOf('sessions').filter((name) => name.startsWith('session.create.'))]

export async function tortureTriggers(options: TriggersOptions): Promise<TriggersReport> {
  const random = randomFrom(options.seed)
  const first = Math.floor(random() * 4)
  const skews = Array.from({ length: options.servers }, () => Math.floor(random() * 3_000))
  return withPostgres(async (databaseUrl, home) => {
    const clocks = new Clocks(home, hourChanges[first]! - options.beforeMs - 5 * minuteMs, skews)
    const each = (n: number) => ({ databaseUrl, clockFile: clocks.file(n) })
    try {
      // Connected before the servers, which take all the connections that PostgreSQL has.
      return await withClient(databaseUrl, (db) =>
        withServers({ kinds: ['managed'], count: options.servers, each }, (world) => {
          const run: Run = {
            ...{ options, world, random, db, clocks, epochs: new Epochs(), project: world.projects[0]!, leaps: [] },
            report: { leaps: { forward: 0, back: 0 }, edits: 0, looks: 0 },
          }
          return torture(run, first)
        }),
      )
    } finally {
      clocks.stop()
    }
  })
}

async function torture(run: Run, first: number): Promise<TriggersReport> {
  const { options, world, clocks, db, epochs, project } = run
  const over = new AbortController()
  const seen: string[] = []
  const killing = keepKilling(world.servers, {
    random: run.random,
    points: steps,
    over: over.signal,
    lifeMs: options.lifeMs,
    killsMax: options.killsMax,
  })
  const watching = watch(run, seen, over.signal)
  const changes = async () => {
    for (let change = first, round = 0; change < hourChanges.length; change++, round++) {
      await through(run, hourChanges[change]!, round)
      const { rows } = await db.query<{ n: string }>('select count(*) as n from trigger_slots')
      options.say?.(`${at(clocks)}: ${rows[0]!.n} times were due, ${killing.kills.total} kills`)
      if (Number(rows[0]!.n) >= options.ticks) return
    }
  }
  try {
    // A server that does not start ends the run.
    await Promise.race([changes(), killing.failed, watching])
  } finally {
    over.abort()
    await Promise.allSettled([killing.ended, watching])
  }
  await rest(run)
  const found = await judge(db, { projectId: project.id, epochs, leaps: run.leaps, highest: clocks.highest })
  found.problems.push(...seen)
  return { ...found, ...run.report, kills: killing.kills }
}

/** From a jump to shortly before a clock change until some time after it. */
async function through(run: Run, change: number, round: number): Promise<void> {
  const { clocks, options, random } = run
  const { many } = options
  const reach = Math.min(12 * minuteMs, (options.beforeMs + options.afterMs) / 3)
  options.say?.(`${at(clocks)}: on to ${new Date(change).toISOString()}, when the hour changes`)
  if (clocks.now < change - options.beforeMs) {
    await edit(run, { round: 2 * round, isBusy: false, many })
    leap(run, change - options.beforeMs - clocks.now)
    await until('what was missed is in the ledger', () => isInLedger(run))
  }
  for (const [half, until] of [change + options.afterMs / 3, change + options.afterMs].entries()) {
    await edit(run, { round: 2 * round + half, isBusy: true, many })
    options.say?.(`${at(clocks)}: svc.toml changed`)
    clocks.rate = options.rate
    while (clocks.now < until) {
      await delay(disturbEveryMs)
      const dice = random()
      if (dice < 0.12) leap(run, Math.floor((0.1 + random()) * reach))
      else if (dice < 0.24) leap(run, -Math.floor((0.1 + random()) * reach))
    }
    clocks.rate = 1
  }
}

const at = (clocks: Clocks) => new Date(clocks.now).toISOString().slice(0, 16)

function leap({ clocks, leaps, report }: Run, ms: number): void {
  const after = clocks.highest
  clocks.leap(ms)
  if (ms > 0) report.leaps.forward++
  else report.leaps.back++
  if (ms > 0 && clocks.lowest > after) leaps.push({ after, until: clocks.lowest })
}

/** Edits svc.toml as a merge or an external push would; returns once a server has applied it. */
async function edit(run: Run, phase: Parameters<typeof definitions>[0]): Promise<void> {
  const { clocks, db, project, world } = run
  const from = clocks.lowest
  const sha = await commitFiles(project.dir, { 'svc.toml': manifestOf(definitions(phase)) })
  // The next reader of the triggers sees the branch as it is now.
  await world.insist('GET', `/v1/projects/${project.id}/triggers`, null, `edit-${sha}`)
  await until('svc.toml is read', async () => {
    const { rows } = await db.query<{ sha: string }>('select sha from trigger_reconciliations where project_id = $1', [
      project.id,
    ])
    return rows[0]?.sha === sha
  })
  const rows = await readTriggers(db, project.id)
  run.epochs.note(rows, { from, until: clocks.highestNow, highest: clocks.highest })
  run.report.edits++
}

async function isInLedger({ clocks, db, project }: Pick<Run, 'clocks' | 'db' | 'project'>): Promise<boolean> {
  const { rows } = await db.query<{ n: string }>(
    `select (select count(*) from triggers where project_id = $1 and enabled and next_due_at <= $2)
      + (select count(*) from trigger_slots where project_id = $1 and status = 'claimed') as n`,
    [project.id, new Date(clocks.lowest)],
  )
  return rows[0]!.n === '0'
}

/** At no moment does a trigger show a firing without its session, or hide one. */
async function watch(run: Run, seen: string[], over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const { rows } = await run.db.query<{ slug: string; said: Date | null; fired: Date | null }>(
      `select t.slug, t.last_fired_at as said, f.fired from triggers t left join lateral (
         select max(s.fired_at) as fired from trigger_slots s join project_sessions p on p.session_id = s.session_id
         where s.project_id = t.project_id and s.slug = t.slug and s.status = 'fired') f on true
       where t.project_id = $1 and t.last_fired_at is distinct from f.fired`,
      [run.project.id],
    )
    for (const { slug, said, fired } of rows)
      seen.push(`${slug}: said it fired ${said?.toISOString()}, when its newest session was of ${fired?.toISOString()}`)
    run.report.looks++
    await delay(200)
  }
}

/** No server dies from here on: the others take over, and then no firing is pending. */
async function rest({ clocks, world, ...run }: Run): Promise<void> {
  clocks.rate = 1
  for (const server of world.servers) if (!server.isRunning) await server.start()
  await until('nothing is owed any more', () => isInLedger({ clocks, ...run }), 180_000)
  for (const server of world.servers) await server.kill('SIGTERM')
}
