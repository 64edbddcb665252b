/** An idle runtime freezes and every use thaws it, as the server and the kernel see it. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'

import type { DaemonHealth } from '@svc/contract/daemon/control'

import { contextLine, freePort, raw, request, signed, startTestDaemon, statusOf, testToken, until } from '../testing.ts'
import { userContextHeader } from '@svc/contract/daemon/control'
import { type SandboxProcess, sandboxProcesses } from './processes.ts'

setDefaultTimeout(120_000)

const bearer = `Authorization: Bearer ${testToken}`
const ends: (() => Promise<unknown> | void)[] = []
/** Processes from before this test. */
let earlier = new Set<number>()
beforeEach(() => {
  earlier = new Set(sandboxProcesses().map(({ pid }) => pid))
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** Looks at the processes below this test, as if it were a sandbox. */
async function start(env: Record<string, string> = {}) {
  let looks = 0
  const counted = () => {
    looks++
    return belowThisTest()
  }
  const under = await startTestDaemon({ SVC_RUNTIME_FREEZE_SECONDS: '0.2', ...env }, { processes: counted })
  ends.push(() => under.close())
  await until('the daemon to be ready', async () => (await under.daemon.health()).status === 'ready')
  const runtime = async (path: string) => (await fetch(`http://127.0.0.1:${under.runtimePort}${path}`)).json()
  const { pid: runtimePid } = (await runtime('/idle')) as { pid: number }
  return {
    ...under,
    runtimePid,
    looks: () => looks,
    send: (method: string, path: string, lines: string[], body = '') =>
      raw(under.port, request(method, path, lines, body)),
    isFrozen: () => /^State:\s+T/m.test(readFileSync(`/proc/${runtimePid}/status`, 'utf8')),
    /** Only while the runtime is not frozen. */
    runtime,
  }
}

/** Without what other tests of the run left running, and what that starts. */
function belowThisTest(): SandboxProcess[] {
  const all = sandboxProcesses()
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]))
  const isBelow = (pid: number | undefined): boolean =>
    pid === process.pid || (pid !== undefined && !earlier.has(pid) && isBelow(parents.get(pid)))
  return all.filter(({ pid }) => isBelow(pid))
}

test('an idle runtime is frozen and its health is still ready; a prompt reaches it, and open event streams go on', async () => {
  const under = await start()
  const context = { [userContextHeader]: await signed('/event') }
  const events = await fetch(`http://127.0.0.1:${under.port}/event`, { headers: context })
  const reader = events.body!.getReader()
  ends.push(() => reader.cancel())
  await reader.read()
  await until('the runtime to freeze', under.isFrozen)
  const asleep = JSON.parse((await under.send('GET', '/svc/health', [])).split('\r\n\r\n')[1]!) as DaemonHealth
  expect(asleep).toMatchObject({ status: 'ready', runtime: 'ready', error: null })
  expect(asleep.runtime_asleep_ms).toBeNumber()
  expect(under.isFrozen()).toBe(true)

  const askedAt = Date.now()
  const prompted = await under.send('POST', '/svc/prompt', [bearer], JSON.stringify({ text: 'Go on.' }))
  expect(statusOf(prompted)).toBe(200)
  expect(await under.runtime('/prompts')).toMatchObject([{ parts: [{ type: 'text', text: 'Go on.' }] }])
  // Events that were sent before the freeze may still be on their way.
  for (let last = 0; last < askedAt;) {
    const text = new TextDecoder().decode((await reader.read()).value)
    last = Number(/"at":(\d+)/.exec(text)?.[1] ?? 0)
  }
  await until('the runtime to freeze again', under.isFrozen)
})

test('a request through the edge, an abort and a terminal thaw it', async () => {
  const under = await start()
  const uses = {
    async request() {
      expect(statusOf(await under.send('GET', '/config', [await contextLine('/config')]))).toBe(200)
    },
    async abort() {
      await under.send('POST', '/svc/prompt', [bearer], JSON.stringify({ text: 'Stop.' }))
      expect(statusOf(await under.send('POST', '/svc/abort', [bearer]))).toBe(200)
    },
    async terminal() {
      const headers = { [userContextHeader]: await signed('/svc/terminal') }
      const socket = new WebSocket(`ws://127.0.0.1:${under.port}/svc/terminal`, { headers } as never)
      await new Promise((resolve) => socket.addEventListener('open', resolve))
      expect((await under.daemon.health()).runtime_asleep_ms).toBeNull()
      expect(under.isFrozen()).toBe(false)
      socket.close()
    },
  }
  for (const use of Object.values(uses)) {
    await until('the runtime to freeze', under.isFrozen)
    await use()
  }
  await until('the runtime to freeze', under.isFrozen)
})

test('a request to a program of the runtime thaws it, and one to a port without a program does not', async () => {
  const under = await start()
  const { port } = (await under.runtime('/helper')) as { port: number }
  const ask = async (to: number) => under.send('GET', `/proxy/${to}/`, [await contextLine(`/proxy/${to}/`)])
  await until('the runtime to freeze', under.isFrozen)
  const nobodys = await freePort()
  expect(statusOf(await ask(nobodys))).toBe(502)
  expect(under.isFrozen()).toBe(true)
  expect(await ask(port)).toEndWith('helps')
  await until('the runtime to freeze again', under.isFrozen)
})

test('a request to a port of a sandbox whose runtime is stopped does not start it', async () => {
  const under = await start({ SVC_RUNTIME_STOP_SECONDS: '0.2' })
  const { port } = (await under.runtime('/helper')) as { port: number }
  await until('the runtime to stop', async () => (await under.daemon.health()).runtime === 'stopped')
  expect(statusOf(await under.send('GET', `/proxy/${port}/`, [await contextLine(`/proxy/${port}/`)]))).toBe(502)
  expect((await under.daemon.health()).runtime).toBe('stopped')
})

test('a runtime in a turn is not frozen, and one that was told to stop a turn is', async () => {
  const under = await start()
  const asked = async () => (await under.seen()).filter(({ url }) => url === '/session/status').length
  await under.runtime('/busy')
  const before = await asked()
  await until('the daemon to ask for turns', async () => (await asked()) > before + 8)
  expect(under.isFrozen()).toBe(false)
  await under.runtime('/idle')
  await until('the runtime to freeze', under.isFrozen)
})

test('a runtime beside another process of the agent is not frozen, and is once that process ends', async () => {
  const server = Bun.spawn(['sleep', '600'], { detached: true })
  ends.push(() => server.kill('SIGKILL'))
  const under = await start()
  await until('some looks at the processes', () => under.looks() > 8)
  expect(under.isFrozen()).toBe(false)
  expect(await under.runtime('/prompts')).toEqual([])
  server.kill('SIGKILL')
  await server.exited
  await until('the runtime to freeze', under.isFrozen)
})

test('a frozen runtime that is killed starts again, and the daemon ends with a frozen one', async () => {
  const under = await start()
  await until('the runtime to freeze', under.isFrozen)
  process.kill(under.runtimePid, 'SIGKILL')
  await until('the runtime to start again', async () => {
    const { runtime, runtime_starts: starts } = await under.daemon.health()
    return runtime === 'ready' && starts === 2
  })
  await until('the next one to freeze', async () => (await under.daemon.health()).runtime_asleep_ms !== null)
  await under.close()
  expect(belowThisTest().filter(({ group, pid }) => group === pid && pid !== process.pid)).toEqual([])
})

test('a runtime that stays idle is stopped without trouble; the next prompt starts it, and open event streams go on', async () => {
  const under = await start({ SVC_RUNTIME_STOP_SECONDS: '0.2' })
  const events = await fetch(`http://127.0.0.1:${under.port}/event`, {
    headers: { [userContextHeader]: await signed('/event') },
  })
  const reader = events.body!.getReader()
  ends.push(() => reader.cancel())
  const untilStopped = () =>
    until('the runtime to stop', async () => (await under.daemon.health()).runtime === 'stopped')
  await untilStopped()
  expect(await under.daemon.health()).toMatchObject({ status: 'ready', error: null, runtime_starts: 1 })
  expect((await under.daemon.health()).runtime_asleep_ms).toBeNumber()
  await until('its process to end', () => !sandboxProcesses().some(({ pid }) => pid === under.runtimePid))

  const askedAt = Date.now()
  const prompted = await under.send('POST', '/svc/prompt', [bearer], JSON.stringify({ text: 'Go on.' }))
  expect(statusOf(prompted)).toBe(200)
  for (let last = 0; last < askedAt;) {
    const { value, done } = await reader.read()
    expect(done).toBe(false)
    last = Number(/"at":(\d+)/.exec(new TextDecoder().decode(value))?.[1] ?? 0)
  }
  // Sleeping lost no turn, so it counts as no start of the runtime.
  expect(await under.daemon.health()).toMatchObject({ status: 'ready', error: null, runtime_starts: 1 })

  await untilStopped()
  expect(statusOf(await under.send('GET', '/config', [await contextLine('/config')]))).toBe(200)
  await untilStopped()
  await under.close()
  expect(belowThisTest().filter(({ group, pid }) => group === pid && pid !== process.pid)).toEqual([])
})
