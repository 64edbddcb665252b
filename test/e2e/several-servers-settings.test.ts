/** Settings of several servers that fit together, and a server whose balancer is not there yet. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { program, run } from './harness.ts'

let home: string
let env: Record<string, string>
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-several-settings-'))
  env = { PATH: process.env.PATH ?? '', HOME: home, SVC_SANDBOX_DRIVER: 'none' }
})
afterAll(async () => {
  await svc('self-host', 'stop')
  await rm(home, { recursive: true, force: true })
})

const svc = (...args: string[]) => run([program, ...args], { env, cwd: home })
const shared = ['DATABASE_URL=postgres://db.example/svc', 'SVC_PUBLIC_URL=https://svc.example.com']

test('an https port for other servers that is the port of everyone is refused, with an address that works', async () => {
  const set = (...words: string[]) => svc('self-host', 'env', 'set', 'SVC_PORT=8421', ...shared, ...words)
  for (const listen of [[], ['SVC_PEER_LISTEN=0.0.0.0:8422']]) {
    const { code, stderr } = await set('SVC_PEER_URL=https://10.0.0.9:8421', ...listen)
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('SVC_PEER_URL with https needs another port than SVC_PORT (8421).'),
    ])
    expect(stderr).toContain('SVC_PEER_URL=https://10.0.0.9:8422')
    expect(stderr.includes('SVC_PEER_LISTEN')).toBe(listen.length > 0)
  }
  const { code, stderr } = await set('SVC_PEER_URL=https://10.0.0.9:8422', 'SVC_PEER_LISTEN=0.0.0.0:8421')
  expect([code, stderr]).toEqual([2, expect.stringContaining('SVC_PEER_LISTEN=0.0.0.0:8422')])
}, 120_000)

test('a setting of this shell that lacks another one suggests to set that', async () => {
  const inShell = { ...env, SVC_PEER_URL: 'https://10.0.0.9:8422', DATABASE_URL: 'postgres://db.example/svc' }
  const { code, stderr } = await run([program, 'self-host', 'start', '--yes'], { env: inShell, cwd: home })
  expect([code, stderr]).toEqual([1, expect.stringContaining('SVC_PEER_URL needs SVC_PUBLIC_URL')])
  expect(stderr).toContain('svc self-host env set SVC_PUBLIC_URL=https://svc.example.com\n')
  expect(stderr).toContain('unset SVC_PEER_URL')
}, 120_000)

test.each(['p#w@db/svc', 'p/w@db/svc', 'p?w@db/svc', 'pw@db:2115O/svc'])(
  'a DATABASE_URL that cannot be read is not saved: u:%s',
  async (rest) => {
    const { code, stderr } = await svc('self-host', 'env', 'set', `DATABASE_URL=postgresql://u:${rest}`)
    expect([code, stderr]).toEqual([2, expect.stringContaining('DATABASE_URL is no URL of a PostgreSQL')])
    expect(stderr).toContain('write %23 for #, %2F for /')
    expect(stderr).not.toContain(rest)
  },
  120_000,
)

test('a server whose balancer is not there yet answers at its own port, which its status says', async () => {
  const [port, away] = [await freePort(), await freePort()]
  const set = await svc('self-host', 'env', 'set', `SVC_PORT=${port}`, `SVC_PUBLIC_URL=http://127.0.0.1:${away}`)
  expect([set.code, set.stderr]).toEqual([0, expect.any(String)])
  expect((await svc('self-host', 'start', '--yes')).code).toBe(0)
  const { code, stdout, stderr } = await svc('self-host', 'status')
  expect([code, stdout]).toEqual([0, expect.stringContaining('running, but its public address does not answer')])
  expect(stderr).toContain(`The server answers at http://127.0.0.1:${port}, its own port.`)
  await using another = anotherServer(away)
  const ready = await svc('self-host', 'status')
  expect([ready.code, ready.stdout]).toEqual([0, expect.stringMatching(/server: +running\n/)])
  expect(ready.stdout).not.toContain(another.version)
  const { server } = JSON.parse((await svc('self-host', 'status', '--json')).stdout) as { server: { pid: number } }
  process.kill(server.pid, 'SIGSTOP')
  const paused = await svc('self-host', 'status')
  process.kill(server.pid, 'SIGCONT')
  expect(paused.stdout).toContain('paused by a signal')
  expect(paused.stdout).not.toContain(another.version)
}, 120_000)

/** Answers as a balancer does that passes the question on to another server. */
function anotherServer(port: number) {
  const version = '99.0.0'
  const facts = {
    ...{ version, model: 'of-another', providers: { apps: 'none', connectors: 'none' } },
    sandbox: { driver: 'local', ready: true, problem: null },
  }
  const server = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => Response.json(facts) })
  return { version, [Symbol.asyncDispose]: () => server.stop(true) }
}
