/** A server that lives and is not reached any more, as where the network between two servers drops packets. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { ErrorBody, Project } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { withClient } from '../db/testing-cluster.ts'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet, refusedUpgrade } from './testing-fleet.ts'

let fleet: Fleet
let ada: FleetServer
let silent: Awaited<ReturnType<typeof startSilent>>
beforeAll(async () => {
  silent = await startSilent()
  fleet = await makeFleet(['ada'])
  ada = fleet.servers[0]!
  expect((await ada.boot()).url).not.toBeNull()
}, 120_000)
afterAll(async () => {
  silent.end()
  await fleet.close()
})

/** Accepts no connection, so that the kernel drops further ones: a stopped process whose queue is full. */
async function startSilent(): Promise<{ url: string; end: () => void }> {
  const program = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    console.log(this.address().port) })`
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' })
  const reader = child.stdout.getReader()
  const port = Number(new TextDecoder().decode((await reader.read()).value))
  child.kill('SIGSTOP')
  const waiting: Socket[] = []
  const isTaken = async () => {
    const socket = connect({ port, host: '127.0.0.1' })
    waiting.push(socket.on('error', () => socket.destroy()))
    const late = AbortSignal.timeout(1_000)
    return new Promise<boolean>((resolve) => {
      socket.on('connect', () => resolve(true))
      late.addEventListener('abort', () => resolve(false))
    })
  }
  while (await isTaken()) expect(waiting.length).toBeLessThan(10_000)
  return {
    url: `http://127.0.0.1:${port}`,
    end() {
      for (const socket of waiting) socket.destroy()
      child.kill('SIGKILL')
    },
  }
}

test('a request about a project whose home cannot be reached is answered, though that server lives', async () => {
  const made = await fleet.request(ada, 'POST', '/v1/projects', { body: { name: 'away' } })
  const { project_id: id } = (await made.json()) as Project
  const instance = randomUUID()
  await withClient(fleet.databaseUrl, async (client) => {
    await client.query(`select pg_advisory_lock(hashtextextended('svc instance ' || $1, 0))`, [instance])
    await client.query(
      `insert into server_instances (instance_id, server_name, peer_url, heartbeat_at, lock_taken_at, data_folder)
       values ($1, 'zoe', $2, now() + interval '1 hour', now(), gen_random_uuid())`,
      [instance, silent.url],
    )
    await client.query(`update projects set home = 'zoe' where project_id = $1`, [id])
    const answers = await Promise.all([untilAsked(id, 'GET'), untilAsked(id, 'PATCH', { body: { name: 'renamed' } })])
    for (const [at, answer] of answers.entries()) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
      const { error, hint } = (await answer.json()) as ErrorBody
      expect(error).toBe('The server that keeps this project, zoe, does not answer.')
      // Only a write has an Idempotency-Key.
      expect([at, hint?.includes('Idempotency-Key')]).toEqual([at, at === 1])
    }
    const stranger = { headers: { authorization: '' }, body: { name: 'renamed' } }
    const none = randomUUID()
    const [terminal, refused, ...git] = await Promise.all([
      refusedUpgrade(fleet, ada, `/v1/projects/${id}/sessions/${randomUUID()}/terminal`),
      fleet.request(ada, 'PATCH', `/v1/projects/${id}`, stranger),
      ...[id, none].map((projectId) => gitAnswers(projectId)),
    ])
    // git sends its credential only after a challenge for Basic.
    expect(git[0]).toEqual(git[1]!)
    expect(git[0]!.map(({ status, challenge }) => [status, challenge])).toEqual(
      git[0]!.map(() => [401, 'Basic realm="svc"']),
    )
    const credential = `Basic ${Buffer.from(`x:${fleet.token}`).toString('base64')}`
    const path = `/v1/projects/${id}/git/info/refs?service=git-receive-pack`
    const [json, lines] = await Promise.all(
      ['curl/8.14.1', 'git/2.47.3'].map((agent) =>
        fleet.request(ada, 'GET', path, { headers: { authorization: credential, 'user-agent': agent } }),
      ),
    )
    const reason = 'The server that keeps this project, zoe, does not answer.'
    expect([json!.status, await json!.json()]).toEqual([503, expect.objectContaining({ error: reason })])
    expect([lines!.status, await lines!.text()]).toEqual([503, `${reason}\nTry again in a moment.\n`])
    expect(refused.status).toBe(401)
    expect([terminal.status, terminal.retryAfter, terminal.body.error]).toEqual([
      503,
      '2',
      'The server that keeps this project, zoe, does not answer.',
    ])
  })
}, 120_000)

/** The kernel accepts connections for a paused process, so only its heartbeat tells. */
test('a request to a home that is paused is answered once its heartbeat counts as old', async () => {
  const made = await fleet.request(ada, 'POST', '/v1/projects', { body: { name: 'paused' } })
  const { project_id: id } = (await made.json()) as Project
  const paused = createServer((socket) => void socket.on('error', () => {}).resume())
  await new Promise<void>((resolve) => paused.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(paused.address() as AddressInfo).port}`
  try {
    await until('ada is asked for it as the home no more', async () => {
      await fleet.query('update projects set home = $1 where project_id = $2', ['yara', id])
      return (await fleet.request(ada, 'GET', `/v1/projects/${id}`)).status !== 200
    })
    await fleet.query(
      `insert into server_instances (instance_id, server_name, peer_url, heartbeat_at, data_folder)
       values (gen_random_uuid(), 'yara', $1, now() - interval '14 seconds', gen_random_uuid())`,
      [url],
    )
    await Bun.sleep(1_100)
    const began = performance.now()
    const answers = await Promise.all([
      fleet.request(ada, 'GET', `/v1/projects/${id}`),
      fleet.request(ada, 'PATCH', `/v1/projects/${id}`, { body: { name: 'renamed' } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([503, 503])
    const waited = performance.now() - began
    expect(waited).toBeGreaterThan(4_000)
    expect(waited).toBeLessThan(9_000)
  } finally {
    paused.close()
  }
}, 120_000)

/** A home that has begun its answer when its machine loses its power: nothing of the connection ends. */
async function beginsAndDies(): Promise<{ url: string; begun: Promise<unknown>; end: () => void }> {
  const begun = Promise.withResolvers<void>()
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('error', () => {}))
    socket.once('data', (head) => {
      const isUpgrade = head.toString('latin1').includes('websocket')
      const line = isUpgrade ? '101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade' : '200 OK'
      if (!head.toString('latin1').startsWith('GET /health')) begun.resolve()
      socket.write(`HTTP/1.1 ${line}\r\n${isUpgrade ? '' : 'Transfer-Encoding: chunked\r\n'}\r\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It takes no further connection, so that it cannot be reached.
  const die = begun.promise.then(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begun: die,
    end: () => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}

test.each(['a clone', 'a terminal'])(
  '%s ends when its home dies in the middle of the answer',
  async (what) => {
    const made = await fleet.request(ada, 'POST', '/v1/projects', { body: { name: 'cut' } })
    const { project_id: id } = (await made.json()) as Project
    const home = await beginsAndDies()
    const name = `home-of-${id}`
    try {
      await fleet.query(
        `insert into server_instances (instance_id, server_name, peer_url, heartbeat_at, data_folder)
       values (gen_random_uuid(), $1, $2, now() + interval '1 hour', gen_random_uuid())`,
        [name, home.url],
      )
      await fleet.query('update projects set home = $1 where project_id = $2', [name, id])
      await until('ada knows the home', async () => {
        const path = `/v1/projects/${id}/git/git-upload-pack`
        const asked = what === 'a clone' ? await opened('POST', path) : await opened('GET', terminalOf(id))
        return asked.status === 404 || asked.status === 400 || asked.status === 401
          ? null
          : asked.ended.then(() => true)
      })
    } finally {
      home.end()
    }
  },
  120_000,
)

const terminalOf = (id: string) => `/v1/projects/${id}/sessions/${randomUUID()}/terminal`

/** Resolves with the status of the answer; `ended` when its connection ends. */
function opened(method: string, path: string): Promise<{ status: number; ended: Promise<void> }> {
  const { port } = new URL(ada.url)
  const upgrade = method === 'GET' ? 'Connection: Upgrade\r\nUpgrade: websocket' : 'Content-Length: 0'
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${fleet.token}\r\n${upgrade}\r\n\r\n`,
  )
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('data', (chunk) => resolve({ status: Number(chunk.toString('latin1').split(' ')[1]), ended }))
  })
}

test('a new project goes to the next server when the emptiest does not answer, and is made there once', async () => {
  // Ada has one project, and the others none.
  expect((await fleet.request(ada, 'POST', '/v1/projects', { body: { name: 'first' } })).status).toBe(201)
  const closed = `http://127.0.0.1:${await freePort()}`
  for (const [name, url] of [
    ['yan', silent.url],
    ['xue', closed],
  ]) {
    await fleet.query(`insert into servers (server_name, data_folder, peer_url) values ($1, gen_random_uuid(), $2)`, [
      name,
      url,
    ])
    await fleet.query(
      `insert into server_instances (instance_id, server_name, peer_url, heartbeat_at, data_folder)
       values (gen_random_uuid(), $1, $2, now() + interval '1 hour', gen_random_uuid())`,
      [name, url],
    )
  }
  const made = await fleet.request(ada, 'POST', '/v1/projects', {
    body: { name: 'next' },
  })
  expect(made.status).toBe(201)
  expect(await fleet.query(`select home from projects where name = 'next'`)).toEqual([{ home: 'ada' }])
}, 120_000)

/** The answers that git clients get without a credential, and with an unknown one. */
function gitAnswers(projectId: string) {
  const requests = [
    ['GET', 'info/refs?service=git-upload-pack'],
    ['GET', 'info/refs?service=git-receive-pack'],
    ['POST', 'git-receive-pack'],
  ] as const
  return Promise.all(
    ['', 'Basic eDp5'].flatMap((authorization) =>
      requests.map(async ([method, path]) => {
        const options = { headers: { authorization }, ...(method === 'GET' ? {} : { body: {} }) }
        const answer = await fleet.request(ada, method, `/v1/projects/${projectId}/git/${path}`, options)
        const challenge = answer.headers.get('www-authenticate')
        return { status: answer.status, challenge, body: await answer.json() }
      }),
    ),
  )
}

/** Ada remembers for some seconds that it was the home. */
async function untilAsked(id: string, method: string, options: { body?: object } = {}): Promise<Response> {
  for (;;) {
    const answer = await fleet.request(ada, method, `/v1/projects/${id}`, options)
    if (answer.status !== 200) return answer
    await Bun.sleep(100)
  }
}
