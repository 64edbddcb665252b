/**
 * The load model: three servers on one PostgreSQL with far more rows and live sessions than sandboxes of this machine. What
 * they ask of the database, use of memory and processor, and how late events arrive, each as a curve over the number of
 * live sessions.
 */
import { asymptoteOf } from './load/asymptote.ts'
import { type Measured, measure, type Question } from './load/measure.ts'
import { burst, type ChangeRequest, drive, Readers } from './load/traffic.ts'
import { LoadWorld } from './load/world.ts'
import { median, percentile } from './report/figures.ts'

const sizes = (process.env.BENCH_SESSIONS ?? '100,1000,3000,10000').split(',').map(Number)
const rows = {
  projects: Number(process.env.BENCH_PROJECTS ?? 1_000),
  changeRequests: Number(process.env.BENCH_CHANGE_REQUESTS ?? 100_000),
}
const restSeconds = Number(process.env.BENCH_REST_SECONDS ?? 15)
const useSeconds = Number(process.env.BENCH_SECONDS ?? 25)
/** A million a day for the largest size, and in proportion for the others. */
const eventsPerDay = 1_000_000
const sessionsOfADay = 10_000
/** One page of a project is open for so many live sessions. */
const sessionsPerReader = 25
const burstOf = 100
/** A minute after a start, the server saves the work of every session once. */
const settleSeconds = Number(process.env.BENCH_SETTLE_SECONDS ?? 80)
const shown = 6

interface Point {
  n: number
  startSeconds: number
  rest: Measured
  use: Measured
  lags: number[]
  burstLags: number[]
  failures: string[]
}

const world = await LoadWorld.make(rows, {
  SVC_WARM_SANDBOXES: process.env.BENCH_WARM ?? '1',
  // No agent asks it: the sandboxes answer by themselves.
  SVC_LLM_UPSTREAM_URL: 'http://127.0.0.1:9/v1',
  SVC_LLM_MODEL: 'bench',
})
const points: Point[] = []
try {
  for (const n of sizes) {
    points.push(await pointAt(n))
    printPoint(points.at(-1)!)
    await world.stop()
  }
} finally {
  printCurves()
  await world.fleet.end()
}

async function pointAt(n: number): Promise<Point> {
  const began = performance.now()
  await world.begin(n)
  const startSeconds = (performance.now() - began) / 1000
  await Bun.sleep(settleSeconds * 1000)
  const rest = await measure(world, () => Bun.sleep(restSeconds * 1000))
  const readers = await Readers.open(world, world.sessions.slice(0, Math.ceil(n / sessionsPerReader)))
  const perSecond = (eventsPerDay / 86_400) * (n / sessionsOfADay)
  const changeRequests = await world.fleet.rows<ChangeRequest>(
    `select cr_id, project_id, true as "isOpen" from change_requests where status = 'open'
      and project_id = any($1) limit 500`,
    [world.sessions.slice(0, Math.ceil(n / sessionsPerReader)).map(({ project_id }) => project_id)],
  )
  let failures: string[] = []
  const use = await measure(world, async () => {
    failures = (await drive(world, { perSecond, seconds: useSeconds, changeRequests })).failures
  })
  const lags = readers.lags
  readers.lags = []
  failures.push(...(await burst(world, burstOf)))
  await Bun.sleep(3_000)
  readers.close()
  return { n, startSeconds, rest, use, lags, burstLags: readers.lags, failures }
}

function printPoint({ n, rest, use, failures }: Point): void {
  console.log(`\n${n.toLocaleString('en')} live sessions`)
  for (const [what, { questions, seconds }] of Object.entries({ rest, use })) {
    printQuestions(`  most frequent (${what})`, questions, seconds, ({ calls }) => calls)
    printQuestions(`  most time of the database (${what})`, questions, seconds, ({ totalMs }) => totalMs)
  }
  printQuestions('  slowest', use.questions, use.seconds, ({ meanMs }) => meanMs)
  if (failures.length > 0) console.log(`  ${failures.length} requests failed, such as: ${failures[0]}`)
}

function printQuestions(title: string, all: Question[], seconds: number, by: (question: Question) => number): void {
  console.log(`${title}\n    a second   mean ms   ms a second      rows`)
  for (const { text, calls, meanMs, totalMs, rows: found } of all.toSorted((a, b) => by(b) - by(a)).slice(0, shown))
    console.log(
      `  ${(calls / seconds).toFixed(2).padStart(10)}${meanMs.toFixed(2).padStart(10)}${(totalMs / seconds).toFixed(1).padStart(14)}${(found / calls).toFixed(0).padStart(10)}  ${text.slice(0, 150)}`,
    )
}

function printCurves(): void {
  const at = (values: number[], percent: number) => (values.length === 0 ? Number.NaN : percentile(values, percent))
  const curves: [string, (point: Point) => number][] = [
    ['questions a second, at rest', ({ rest }) => rest.questionsPerSecond],
    ['questions a second, in use', ({ use }) => use.questionsPerSecond],
    ['events a second, in use', ({ use }) => use.events / use.seconds],
    ['three servers, % of a core, at rest', ({ rest }) => rest.serverPercent],
    ['three servers, % of a core, in use', ({ use }) => use.serverPercent],
    ['PostgreSQL, % of a core, at rest', ({ rest }) => rest.postgresPercent],
    ['PostgreSQL, % of a core, in use', ({ use }) => use.postgresPercent],
    ['memory of a server, MiB', ({ use }) => use.memoryMiB],
    ['handles of a server', ({ use }) => use.handles],
    ['event loop lag of a server, p99, ms', ({ use }) => use.loopLagMs],
    ['event lag to another server, median, ms', ({ lags }) => (lags.length === 0 ? Number.NaN : median(lags))],
    ['event lag to another server, p99, ms', ({ lags }) => at(lags, 99)],
    [`event lag in a burst of ${burstOf} prompts, p99, ms`, ({ burstLags }) => at(burstLags, 99)],
    ['start until every session is taken over, s', ({ startSeconds }) => startSeconds],
  ]
  console.log(
    `\n${'over live sessions'.padEnd(46)}${points.map(({ n }) => n.toLocaleString('en').padStart(10)).join('')}  grows`,
  )
  for (const [what, valueOf] of curves) {
    const values = points.map((point) => ({ n: point.n, value: valueOf(point) }))
    const known = values.filter(({ value }) => Number.isFinite(value))
    const cells = values.map(({ value }) => (Number.isFinite(value) ? value.toFixed(1) : '-').padStart(10))
    console.log(`${what.padEnd(46)}${cells.join('')}  ${known.length < 2 ? '' : asymptoteOf(known)}`)
  }
}
