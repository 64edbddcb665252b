/** A home that is paused while its project moves acknowledges nothing when it wakes. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withClient } from '../db/testing-cluster.ts'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'

let fleet: Fleet
let ada: FleetServer
let project: string
let work: string
const points = ['merge.after_push', 'session.create.after_branch'] as const
const fileOf = (point: string) => join(fleet.dir, `at-${point}`)

beforeAll(async () => {
  fleet = await makeFleet(['ada'])
  ada = fleet.servers[0]!
  const SVC_FAILPOINTS = points.map((point) => `${point}=pause:${fileOf(point)}`).join(',')
  expect((await ada.boot({ SVC_FAILPOINTS })).url).not.toBeNull()
  work = join(fleet.dir, 'work')
  await mkdir(work)
  await git('init', '-q', '-b', 'main')
}, 120_000)
afterAll(() => fleet.close())

beforeEach(async () => {
  const made = await fleet.request(ada, 'POST', '/v1/projects', { body: { name: 'fenced' } })
  project = ((await made.json()) as { project_id: string }).project_id
  await commitFile('a.txt')
  expect((await push('HEAD:refs/heads/main')).code).toBe(0)
}, 120_000)

async function git(...args: string[]): Promise<{ code: number; errors: string }> {
  const credential = Buffer.from(`x-access-token:${fleet.token}`).toString('base64')
  const settings = ['user.name=t', 'user.email=t@t.invalid', `http.extraHeader=Authorization: Basic ${credential}`]
  const child = Bun.spawn(['git', ...settings.flatMap((each) => ['-c', each]), ...args], {
    cwd: work,
    stdout: 'ignore',
    stderr: 'pipe',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: fleet.dir, GIT_TERMINAL_PROMPT: '0' },
  })
  const errors = await new Response(child.stderr).text()
  return { code: await child.exited, errors }
}

async function commitFile(name: string): Promise<void> {
  await writeFile(join(work, name), `${project} ${name}\n`)
  await git('add', '-A')
  await git('commit', '-q', '-m', name)
}

const push = (...refs: string[]) => git('push', `${ada.url}/v1/projects/${project}/git`, ...refs)

const away = `update projects set home = 'bob', home_epoch = home_epoch + 1 where project_id = $1`
const backAgain = `update projects set home_epoch = home_epoch + 2 where project_id = $1`

/** The home sleeps at the point, its project moves, and it wakes. */
async function movedMeanwhile<T>(point: (typeof points)[number], request: Promise<T>, move = away): Promise<T> {
  await until(`${point} is reached`, () => existsSync(fileOf(point)))
  await ada.kill('SIGSTOP')
  await fleet.query(move, [project])
  await rm(fileOf(point))
  await ada.kill('SIGCONT')
  return request
}

test.each([
  ['moved', away, 'moved to another server'],
  ['frozen for its move', `update projects set home_state = 'frozen' where project_id = $1`, 'is moving to another'],
])(
  'a push is reported as refused whose project is %s',
  async (_, move, words) => {
    await commitFile('b.txt')
    // Its row stays locked until the move is committed, so the push waits for it with its refs moved.
    const pushed = await withClient(fleet.databaseUrl, async (client) => {
      await client.query('begin')
      await client.query(move, [project])
      const pushing = push('HEAD:refs/heads/topic')
      await until('the push waits', async () => {
        const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%for share%'`
        return (await fleet.query(waiting)).length > 0
      })
      await ada.kill('SIGSTOP')
      await client.query('commit')
      await ada.kill('SIGCONT')
      return pushing
    })
    expect(pushed.code).not.toBe(0)
    expect(pushed.errors).toContain(words)
  },
  120_000,
)

test('a merge is not recorded, and its change request stays open', async () => {
  await commitFile('c.txt')
  expect((await push('HEAD:refs/heads/topic')).code).toBe(0)
  const base = `/v1/projects/${project}/change-requests`
  const opened = await fleet.request(ada, 'POST', base, { body: { title: 'Fenced', head_ref: 'topic' } })
  const { cr_id } = (await opened.json()) as { cr_id: string }
  const merged = await movedMeanwhile('merge.after_push', fleet.request(ada, 'POST', `${base}/${cr_id}/merge`))
  expect([merged.status, ((await merged.json()) as { code: string }).code]).toEqual([503, 'unavailable'])
  const rows = await fleet.query<{ status: string }>('select status from change_requests where cr_id = $1', [cr_id])
  expect(rows).toEqual([{ status: 'open' }])
}, 120_000)

test('the branch of a session is not acknowledged, also when the project has come back by then', async () => {
  const creating = fleet.request(ada, 'POST', `/v1/projects/${project}/sessions`, { body: { name: 'Fenced' } })
  const refused = await movedMeanwhile('session.create.after_branch', creating, backAgain)
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([503, 'unavailable'])
}, 120_000)
