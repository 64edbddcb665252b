/** What servers and database do in a span of time. */
import { readdirSync } from 'node:fs'
import { bytesOf } from '../report/processes.ts'
import type { LoadWorld } from './world.ts'

export interface Question {
  text: string
  calls: number
  /** The time that the database took, in ms. */
  totalMs: number
  meanMs: number
  rows: number
}

export interface Measured {
  seconds: number
  questions: Question[]
  questionsPerSecond: number
  /** Processor time of all three servers, as percent of one core. */
  serverPercent: number
  postgresPercent: number
  /** The largest value among the servers. */
  memoryMiB: number
  handles: number
  /** The worst p99 of the event loop's lag since the last look, in ms. */
  loopLagMs: number
  events: number
}

export async function measure(world: LoadWorld, work: () => Promise<unknown>): Promise<Measured> {
  const { fleet } = world
  await loopLag(world)
  await fleet.client.query('select pg_stat_statements_reset()')
  const eventsBefore = await countEvents(world)
  const before = fleet.processorMs()
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1000
  const after = fleet.processorMs()
  const questions = await readQuestions(world)
  const percent = (name: keyof typeof after) => (after[name] - before[name]) / seconds / 10
  return {
    seconds,
    questions,
    questionsPerSecond: questions.reduce((sum, { calls }) => sum + calls, 0) / seconds,
    serverPercent: percent('servers'),
    postgresPercent: percent('postgres'),
    memoryMiB: Math.max(...fleet.servers.map(({ pid }) => bytesOf([{ pid }]) / 1024 ** 2)),
    handles: Math.max(...fleet.servers.map(({ pid }) => readdirSync(`/proc/${pid}/fd`).length)),
    loopLagMs: await loopLag(world),
    events: (await countEvents(world)) - eventsBefore,
  }
}

async function readQuestions({ fleet }: LoadWorld): Promise<Question[]> {
  const rows = await fleet.rows<{ query: string; calls: string; total: number; rows: string }>(
    `select query, sum(calls) as calls, sum(total_exec_time) as total, sum(rows) as rows from pg_stat_statements
      where query not like '%pg_stat_statements%' and toplevel group by query`,
  )
  return rows.map(({ query, calls, total, rows: found }) => ({
    text: query.replace(/\s+/g, ' '),
    calls: Number(calls),
    totalMs: total,
    meanMs: total / Number(calls),
    rows: Number(found),
  }))
}

async function countEvents({ fleet }: LoadWorld): Promise<number> {
  const [row] = await fleet.rows<{ last: string | null }>('select sum(last) as last from project_event_counters')
  return Number(row!.last ?? 0)
}

/** Each scrape begins a new span. */
async function loopLag({ fleet }: LoadWorld): Promise<number> {
  const each = await Promise.all(
    fleet.servers.map(async ({ url }) => {
      const text = await (await fetch(`${url}/metrics`)).text()
      return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1] ?? 0) * 1000
    }),
  )
  return Math.max(...each)
}
