/** A server that is gone for good, with its data: its sessions go on at another one with their unfinished work. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { gatewayOf, git, removeFolder, until } from './harness.ts'
import { OneOfSeveral, sharedSettings } from './one-of-several.ts'

const minute = 60_000

let database: Awaited<ReturnType<typeof createTestDatabase>>
let dir: string
let ada: OneOfSeveral
let bob: OneOfSeveral

beforeAll(async () => {
  database = await createTestDatabase({ name: 'two', prepare: migrate })
  dir = await mkdtemp(join(tmpdir(), 'svc-two-'))
  const env = {
    ...sharedSettings(dir, database.url),
    SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
    SVC_BOOTSTRAP_TOKEN: makeToken((count) => randomBytes(count)),
    SVC_WARM_SANDBOXES: '0',
    SVC_SANDBOX_LEASE_SECONDS: '30',
  }
  ada = new OneOfSeveral(dir, 'ada', env)
  bob = new OneOfSeveral(dir, 'bob', env)
  await ada.boot()
  await bob.boot()
}, 3 * minute)
afterAll(async () => {
  await bob?.end()
  await database?.drop()
  await removeFolder(dir)
}, minute)

const script = (...commands: string[]) => ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')

interface Session {
  session_id: string
  branch_name: string
  status: string
  error: string | null
}

const hasSaid = async (at: string, text: string) =>
  JSON.stringify(await bob.send('GET', `${at}/transcript`)).includes(text)

/** The newest start says this about saved work. */
async function returnedIn(at: string) {
  type Step = { name: string; error: string | null; note: string | null }
  const { phases } = await bob.send<{ phases: Step[] }>('GET', `${at}/timeline`)
  return phases.filter(({ name }) => name === 'restore')
}

test(
  'a session stops with the reason, and starts at the new home with its unfinished work',
  async () => {
    const { project_id } = await ada.send<{ project_id: string }>('POST', '/v1/projects', { name: 'survivor' })
    const path = `/v1/projects/${project_id}`
    const seed = await mkdtemp(join(dir, 'seed-'))
    await git(seed, 'init', '--quiet', '--initial-branch=main')
    await Bun.write(join(seed, 'a.txt'), 'a\n')
    await git(seed, 'add', '.')
    await git(seed, 'commit', '--quiet', '-m', 'First')
    await git(seed, 'push', '--quiet', gatewayOf(ada, { project_id }), 'main')
    const { session_id } = await ada.send<Session>('POST', `${path}/sessions`, {
      model: 'svc-scripted-demo',
      initial_prompt: script(
        'echo pushed > pushed.txt && git add . && git commit -q -m Pushed && git push -q',
        'echo unfinished > left.txt && echo done-$((10 + 2))',
      ),
    })
    const at = `${path}/sessions/${session_id}`
    const other = await ada.send<Session>('POST', `${path}/sessions`, {
      model: 'svc-scripted-demo',
      initial_prompt: script('echo of the agent > a.txt && echo done-$((10 + 3))'),
    })
    await until('the work to be done', async () =>
      JSON.stringify(await ada.send('GET', `${at}/transcript`)).includes('done-12'),
    )
    const saved = await ada.send<{ paths: string[] }>('POST', `${at}/wip`)
    expect(saved.paths).toContain('left.txt')
    await until('the other work to be saved', async () => {
      const { paths } = await ada.send<{ paths: string[] }>('GET', `${path}/sessions/${other.session_id}/wip`)
      return paths.includes('a.txt')
    })

    await ada.kill('SIGKILL')
    await rm(join(dir, 'ada'), { recursive: true, force: true })
    await until('ada to count as gone', async () => {
      const answer = await bob.api('/v1/servers/ada/take-over', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
      if (answer.status === 409) return false
      const taken = (await answer.json()) as { projects: object[] }
      expect(taken.projects).toMatchObject([{ project_id, outcome: 'taken', server: 'bob', missing: [] }])
      return true
    })
    const stopped = await until('the session to stop', async () => {
      const session = await bob.send<Session>('GET', at)
      return session.status === 'stopped' ? session : null
    })
    expect(stopped.error).toContain('Its server, ada, is gone')
    const last = await bob.send<{ saved_at: string; returns: boolean }>('GET', `${at}/wip`)
    expect(last.returns).toBe(true)
    const again = script(
      'git log --oneline | grep -c Pushed',
      'grep -q unfinished left.txt && git status --porcelain | grep -q left.txt && echo again-$((20 + 3))',
    )
    await bob.send('POST', `${at}/prompt`, { text: again })
    await until('the session to go on', () => hasSaid(at, 'again-23'))
    expect(await returnedIn(at)).toMatchObject([{ error: null, note: expect.stringContaining(last.saved_at) }])

    // Work that was saved before the take-over does not come back over later work.
    await bob.send('POST', `${at}/prompt`, { text: script('echo newer > left.txt && echo new-$((30 + 4))') })
    await until('newer work', () => hasSaid(at, 'new-34'))
    await bob.send('POST', `${at}/stop`)
    await bob.send('POST', `${at}/prompt`, { text: script('ls; echo last-$((40 + 5))') })
    await until('the next start', () => hasSaid(at, 'last-45'))
    expect(await returnedIn(at)).toEqual([])
    const work = await bob.send<{ generation: number; earlier: object[] }>('GET', `${at}/wip`)
    expect(work).toMatchObject({ generation: 2, earlier: [] })
    await bob.send('POST', `${at}/stop`)

    // Where it does not fit any more, the session starts without it.
    await git(seed, 'fetch', '--quiet', gatewayOf(bob, { project_id }), other.branch_name)
    await git(seed, 'checkout', '--quiet', 'FETCH_HEAD')
    await Bun.write(join(seed, 'a.txt'), 'of a person\n')
    await git(seed, 'commit', '--quiet', '-am', 'Changed meanwhile')
    await git(seed, 'push', '--quiet', gatewayOf(bob, { project_id }), `HEAD:refs/heads/${other.branch_name}`)
    const atOther = `${path}/sessions/${other.session_id}`
    await bob.send('POST', `${atOther}/prompt`, { text: script('cat a.txt | tr a-z A-Z') })
    await until('the other session to go on', () => hasSaid(atOther, 'OF A PERSON'))
    expect(await returnedIn(atOther)).toMatchObject([{ error: expect.stringContaining('stays saved') }])
    expect(await bob.send<{ paths: string[] }>('GET', `${atOther}/wip`)).toMatchObject({ paths: ['a.txt'] })
    await bob.send('POST', `${atOther}/stop`)
    const rows = await withClient(
      database.url,
      async (client) => (await client.query('select taken_over_at from servers where server_name = $1', ['ada'])).rows,
    )
    expect(rows[0].taken_over_at).not.toBe(null)
  },
  5 * minute,
)
