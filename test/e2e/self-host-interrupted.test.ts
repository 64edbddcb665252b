/** `svc self-host start` that ends before its server is ready. */
import { expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { isAlive, isPaused, isZombie } from '../../packages/cli/src/self-host/state.ts'
import { program, run, until } from './harness.ts'

/** A start whose server was paused before it was ready: it creates its database first, which takes seconds. */
async function pausedStart() {
  const home = await mkdtemp(join(tmpdir(), 'svc-self-host-'))
  const port = await freePort()
  const env = { PATH: process.env.PATH ?? '', HOME: home, SVC_SANDBOX_DRIVER: 'none', SVC_PORT: String(port) }
  const svc = (...args: string[]) => run([program, 'self-host', ...args], { env, cwd: home })
  const client = Bun.spawn([program, 'self-host', 'start'], {
    ...{ env, cwd: home, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
  })
  const { pid } = await until('the server to be recorded', async () => {
    const text = await readFile(join(home, '.config/svc/self-host.json'), 'utf8').catch(() => null)
    return text !== null && (JSON.parse(text) as { pid: number })
  })
  process.kill(pid, 'SIGSTOP')
  // A process that waits for its disk stops afterwards.
  await until('the server to be paused', () => isPaused(pid))
  return {
    ...{ svc, client, pid, url: `http://127.0.0.1:${port}` },
    status: async () => JSON.parse((await svc('status', '--json')).stdout) as Record<string, unknown>,
    [Symbol.asyncDispose]: async () => {
      client.kill('SIGKILL')
      if (isAlive(pid)) process.kill(pid, 'SIGCONT')
      await svc('stop')
      await rm(home, { recursive: true, force: true })
    },
  }
}

test('a server whose start was killed is known to every command, and stops', async () => {
  await using start = await pausedStart()
  const { svc, client, pid, url, status } = start
  client.kill('SIGKILL')
  await client.exited
  expect(await status()).toMatchObject({ running: true, ready: false, paused: true, started_by_self_host: true })
  const early = await svc('start')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining(`(process ${pid}) is starting`)])
  process.kill(pid, 'SIGCONT')
  const ready = await until('the server to be ready', async () => {
    const found = await status()
    return found.ready === true && found
  })
  expect(ready).toMatchObject({ started_by_self_host: true, server: { pid, url } })
  const started = await svc('start')
  expect([started.code, started.stdout]).toEqual([0, expect.stringContaining(`already running: ${url}`)])
  const stopped = await svc('stop')
  expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining(`Stopped (process ${pid})`)])
}, 180_000)

test('a server whose start was killed stops before it is ready', async () => {
  await using start = await pausedStart()
  const { svc, client, pid } = start
  client.kill('SIGKILL')
  await client.exited
  process.kill(pid, 'SIGCONT')
  const stopped = await svc('stop')
  expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining(`Stopped (process ${pid})`)])
}, 180_000)

test.each(['SIGHUP', 'SIGTERM', 'SIGINT'] as const)(
  'a start that ends by %s ends the server that it started',
  async (signal) => {
    await using start = await pausedStart()
    const { client, pid, status } = start
    client.kill(signal)
    process.kill(pid, 'SIGCONT')
    expect([await client.exited, await new Response(client.stderr).text()]).toEqual([
      1,
      expect.stringContaining('Interrupted'),
    ])
    expect(isAlive(pid) && !(await isZombie(pid))).toBe(false)
    expect(await status()).toMatchObject({ running: false, left: null })
  },
  180_000,
)
