/** Measures an idle server: its questions to the database and its CPU, with few rows and with many. */
import { CountedServer, type Rows } from '../test/e2e/many-rows.ts'
import { median, timed } from './report/figures.ts'
import { processorMsOf } from './report/processes.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 60)
/** After a start or a change the server looks at everything once. */
const settleSeconds = Number(process.env.BENCH_SETTLE_SECONDS ?? 20)
const promised = { questions: 5, cpu: 1 }

const none: Rows = { projects: 0, externalProjects: 0, changeRequests: 0, endedSessions: 0 }
const sizes: [string, Rows][] = [
  ['nothing', none],
  ['1,000 projects', { ...none, projects: 1_000 }],
  ['10,000 projects', { ...none, projects: 10_000 }],
  ['and 100,000 change requests', { ...none, projects: 10_000, changeRequests: 100_000 }],
  [
    'and 100,000 ended sessions',
    { projects: 10_000, externalProjects: 0, changeRequests: 100_000, endedSessions: 100_000 },
  ],
  [
    'and 1,000 projects on a git host',
    { projects: 10_000, externalProjects: 1_000, changeRequests: 100_000, endedSessions: 100_000 },
  ],
]

const counted = await CountedServer.start()
try {
  const { server, postgres } = counted
  console.log(`\nAn idle server, ${seconds} s each`)
  console.log('rows                              questions/s  server CPU %  postgres CPU %')
  for (const [what, rows] of sizes) {
    if (rows !== none) await counted.addRows(rows)
    // The same state as after a start: what changed by hand is read, and nothing waits.
    await server.kill('SIGTERM')
    await server.boot()
    await Bun.sleep(settleSeconds * 1000)
    await counted.countStatements()
    const before = {
      server: processorMsOf(server.pid),
      postgres: processorMsOf(postgres.pid),
      at: performance.now(),
    }
    await Bun.sleep(seconds * 1000)
    const asked = await counted.countStatements()
    const took = (performance.now() - before.at) / 1000
    const cpu = (pid: number, since: number) => ((processorMsOf(pid) - since) / took / 10).toFixed(2)
    const questions = [...asked.values()].reduce((sum, calls) => sum + calls, 0) / took
    console.log(
      `${what.padEnd(34)}${questions.toFixed(2).padStart(11)}${cpu(server.pid, before.server).padStart(14)}${cpu(postgres.pid, before.postgres).padStart(16)}`,
    )
    if (process.env.BENCH_VERBOSE)
      for (const [query, calls] of [...asked].slice(0, 25))
        console.log(`  ${calls} ${query.replace(/\s+/g, ' ').slice(0, 130)}`)
  }
  console.log(
    `Promised: ${promised.questions} questions a second and ${promised.cpu} % of a core, but for polls of git hosts.`,
  )
  const { rows } = await counted.client.query<{ account_id: string }>('select account_id from accounts limit 1')
  const times: number[] = []
  for (let round = 0; round < 11; round++)
    times.push(await timed(() => server.send('GET', `/v1/accounts/${rows[0]!.account_id}/usage`)))
  console.log(`\nUsage of an account with 100,000 ended sessions: ${median(times).toFixed(0)} ms`)
} finally {
  await counted.end()
}
