/** The feed of a project and its webhooks, as a person at a terminal has them, against a real server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { git, makeFirstCommit, program, Server, until } from './harness.ts'

const minutes = 60_000
let server: Server
let project: string

beforeAll(async () => {
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  const made = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'app'])
  project = made.project_id
  await makeFirstCommit(server, project)
  const clone = join(server.dir, 'clone')
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  Object.assign(url, { username: 'x-access-token', password: server.token })
  await git(server.dir, 'clone', '--quiet', url.href, clone)
  await Bun.write(join(clone, 'b.txt'), 'b\n')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Second')
  await git(clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/work')
}, 4 * minutes)

afterAll(() => server?.end(), minutes)

const svc = (...args: string[]) => server.svc([...args, '--project', project])

test(
  'svc events --follow misses nothing while its server is killed and restarted',
  async () => {
    const { PATH, SVC_CONFIG_FILE } = server.env
    const child = Bun.spawn([program, 'events', '--follow', '--after', '0', '--json', '--project', project], {
      cwd: server.dir,
      env: { PATH: PATH!, HOME: server.dir, SVC_CONFIG_FILE: SVC_CONFIG_FILE! },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const errors = new Response(child.stderr).text()
    let text = ''
    const read = (async () => {
      for await (const chunk of child.stdout) text += new TextDecoder().decode(chunk)
    })()
    const told = () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { id: number; type: string })
    const types = () => told().map(({ type }) => type)
    try {
      expect((await svc('cr', 'open', '--title', 'B', '--head', 'work')).code).toBe(0)
      await until('the change request to be told', async () => types().includes('change_request.opened'))
      await server.kill('SIGKILL')
      await server.boot()
      expect((await svc('cr', 'close', '1')).code).toBe(0)
      await until('its end to be told', async () => types().includes('change_request.closed'))
    } finally {
      child.kill('SIGINT')
    }
    expect(await child.exited).toBe(1)
    await read
    expect(await errors).toContain('"code":"cancelled"')
    expect(told().map(({ id }) => id)).toEqual(told().map((_, i) => i + 1))
  },
  3 * minutes,
)

test(
  'a webhook is created, pinged, refused and redelivered, and its printed secret verifies each delivery',
  async () => {
    const heard: { event: string | null; delivery: string | null; isSigned: boolean }[] = []
    let secret = ''
    let status = 204
    const receiver = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const signed = `${request.headers.get('x-svc-timestamp')}.${await request.text()}`
        const expected = `sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`
        heard.push({
          event: request.headers.get('x-svc-event'),
          delivery: request.headers.get('x-svc-delivery'),
          isSigned: request.headers.get('x-svc-signature') === expected,
        })
        return new Response(status === 204 ? null : 'not today', { status })
      },
    })
    try {
      const added = await svc('webhooks', 'add', `http://127.0.0.1:${receiver.port}/hook`)
      expect(added.stdout).toMatch(/^svc_whs_\S+\n$/)
      secret = added.stdout.trim()
      const pinged = await svc('webhooks', 'ping', '--wait')
      expect([pinged.code, pinged.stdout]).toEqual([0, expect.stringMatching(/accepted ping: 204/)])
      // Events of the project may arrive besides.
      expect(heard).toContainEqual(expect.objectContaining({ event: 'ping', isSigned: true }))
      status = 500
      const refused = await svc('webhooks', 'ping', '--wait')
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('did not accept it')])
      expect(refused.stderr).toContain('not today')
      status = 204
      const { deliveries } = JSON.parse((await svc('webhooks', 'deliveries', '--json')).stdout) as {
        deliveries: { delivery_id: string }[]
      }
      const first = deliveries.at(-1)!.delivery_id
      expect((await svc('webhooks', 'redeliver', first.slice(0, 8))).code).toBe(0)
      await until(
        'it to come again under its id',
        async () => heard.filter((each) => each.delivery === first).length > 1,
      )
      expect((await svc('webhooks', 'rm', '--yes')).code).toBe(0)
      expect(heard.every(({ isSigned }) => isSigned)).toBeTrue()
    } finally {
      await receiver.stop(true)
    }
  },
  3 * minutes,
)

test("svc projects webhook shows the secret that verifies the git host's calls", async () => {
  await svc('projects', 'webhook', '--rotate')
  const { url, secret } = await server.json<{ url: string; secret: string }>([
    ...['projects', 'webhook', '--project', project],
  ])
  const call = (token: string) => fetch(url, { method: 'POST', headers: { 'x-svc-token': token } })
  expect((await call(secret)).ok).toBeTrue()
  const refused = await call('wrong')
  expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('svc projects webhook')])
})
