import { afterAll, beforeAll, expect, test } from 'bun:test'
import { wakeUpsOf } from '../processes.ts'
import { makeFirstCommit, until } from './harness.ts'
import { CountedServer } from './many-rows.ts'

let counted: CountedServer
beforeAll(async () => {
  counted = await CountedServer.start()
}, 120_000)
afterAll(() => counted.end())

/** Rounds of the sweep, not seconds, so that a slow machine counts as much as a fast one. */
const rounds = 6
/** Managed ones. */
const projects = 500

/** The statements of an idle server during so many rounds. */
async function statements(): Promise<number> {
  // A start reads everything once.
  await until('the server asks little', async () => (await during(1)) <= 40)
  return during(rounds)
}

async function during(count: number): Promise<number> {
  await counted.countStatements()
  await until('the rounds of the sweep', async () => (await counted.rounds()) >= count)
  return sum(await counted.countStatements())
}

const sum = (asked: Map<string, number>) => [...asked.values()].reduce((all, calls) => all + calls, 0)

test('an idle server sends its database a few queries a second, also with many rows', async () => {
  const secondsMin = rounds * 5
  const few = await statements()
  await counted.addRows({ projects, externalProjects: 0, changeRequests: 5_000, endedSessions: 5_000 })
  const before = { wakeUps: wakeUpsOf(counted.server.pid), at: performance.now() }
  const many = await statements()
  const perSecond = ((wakeUpsOf(counted.server.pid) - before.wakeUps) * 1000) / (performance.now() - before.at)
  // Each costs a tenth of a millisecond. A timer of ten milliseconds alone would wake it a hundred times a second.
  expect(perSecond).toBeLessThan(90)
  // At most five a second, with the jobs whose long interval ends in this time.
  expect(few).toBeLessThan(secondsMin * 5 + 30)
  expect(many).toBeLessThan(secondsMin * 5 + 30)
  // The projects and change requests of each round of the sweep are the only questions that rows add.
  expect(many).toBeLessThan(few + rounds * 3 + 30)
}, 180_000)

test('projects on a refusing host cost a few requests a batch, however many there are', async () => {
  const { seconds, batches, firstAccounts, asked } = await pollsOf(400)
  // Per batch: take it, its open change requests, the first account, and when the next one is due.
  expect(batches).toBeGreaterThan(0)
  expect(firstAccounts).toBeLessThan(batches + 3)
  expect(asked).toBeLessThan(seconds * 5 + 30 + batches * 4)
}, 180_000)

/** The statements of an idle server with so many projects on a host that refuses every connection. */
async function pollsOf(externalProjects: number) {
  await counted.addRows({ projects, externalProjects, changeRequests: 0, endedSessions: 0 })
  await counted.countStatements()
  // Rows that are added in bulk wake no job.
  await counted.client.query(`select pg_notify('svc_jobs', 'projects')`)
  await until('the rounds of the sweep', async () => (await counted.rounds()) >= rounds)
  const statements = await counted.countStatements()
  const calls = (part: string) => sum(new Map([...statements].filter(([query]) => query.includes(part))))
  return {
    seconds: rounds * 5,
    batches: calls('where next_poll_at <= now()'),
    firstAccounts: calls('"account_members"."user_id", "account_members"."account_id"'),
    asked: sum(statements),
  }
}

test('a push is noticed at once among hundreds of repositories that the sweep reads in minutes', async () => {
  const { server, client } = counted
  const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'pushed'])
  await makeFirstCommit(server, project_id)
  const read = async () => {
    const { rows } = await client.query('select 1 from default_branches where project_id = $1 and sha is not null', [
      project_id,
    ])
    return rows.length > 0
  }
  await until('the branch was read', read, 20_000)
}, 120_000)
