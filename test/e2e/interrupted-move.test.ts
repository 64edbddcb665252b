/** A server that is killed while it hands a project over: nothing that its sandboxes wrote is lost. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { makeFirstCommit, removeFolder, until } from './harness.ts'
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
    SVC_SANDBOX_LEASE_SECONDS: '300',
  }
  ada = new OneOfSeveral(dir, 'ada', env)
  bob = new OneOfSeveral(dir, 'bob', env)
  await ada.boot()
}, 3 * minute)
afterAll(async () => {
  await ada?.end()
  await bob?.end()
  await database?.drop()
  await removeFolder(dir)
}, minute)

const script = (...commands: string[]) => ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')

const hasSaid = async (by: OneOfSeveral, at: string, text: string) =>
  JSON.stringify(await by.send('GET', `${at}/transcript`)).includes(text)

function home(projectId: string) {
  return withClient(database.url, async (client) => {
    const { rows } = await client.query<{ home: string; home_state: string }>(
      'select home, home_state from projects where project_id = $1',
      [projectId],
    )
    return rows[0]!
  })
}

/** The home closes the project, and waits ten seconds for this write. */
function endlessWrite(server: OneOfSeveral, projectId: string): Socket {
  const { port, hostname, host } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  const head = [
    `POST /v1/projects/${projectId}/change-requests HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${server.token}`,
    'Content-Type: application/json',
    'Content-Length: 400',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n{"title": `)
  // Its server is killed.
  socket.on('error', () => {})
  return socket
}

test(
  'a home that was killed while it closed for a move saves what its sandboxes wrote since, when it is back',
  async () => {
    const { project_id } = await ada.send<{ project_id: string }>('POST', '/v1/projects', { name: 'moving' })
    await makeFirstCommit(ada, project_id)
    const path = `/v1/projects/${project_id}`
    const { session_id } = await ada.send<{ session_id: string }>('POST', `${path}/sessions`, {
      model: 'svc-scripted-demo',
      initial_prompt: script(
        'setsid nohup sh -c "while sleep 0.2; do date +%s > now.txt; done" > /dev/null 2>&1 &',
        'echo started-$((10 + 2))',
      ),
    })
    const at = `${path}/sessions/${session_id}`
    await until('the program to run', () => hasSaid(ada, at, 'started-12'))
    await bob.boot()
    const write = endlessWrite(ada, project_id)
    await ada.send('POST', `${path}/home`, { server: 'bob' })
    await until('the project to close', async () => (await home(project_id)).home_state === 'closing')
    await ada.kill('SIGKILL')
    write.destroy()
    const killedAt = Math.ceil(Date.now() / 1000)
    await ada.boot()
    await until('the move to end', async () => {
      const now = await home(project_id)
      return now.home === 'bob' && now.home_state === 'open'
    })
    const late = `[ $(cat now.txt) -gt ${killedAt} ] && echo kept-$((20 + 3)) || echo lost-$((20 + 4))`
    await bob.send('POST', `${at}/prompt`, { text: script(late) })
    await until('the session to go on', async () => (await hasSaid(bob, at, 'kept-23')) || hasSaid(bob, at, 'lost-24'))
    expect(await hasSaid(bob, at, 'kept-23')).toBe(true)
    await bob.send('POST', `${at}/stop`)
  },
  5 * minute,
)
