/** A short run of the session torture: a few cycles in real sandboxes, with servers and sandbox processes killed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@svc/contract'
import { runtimePort } from '@svc/contract/daemon/control'
import { until } from '../e2e/harness.ts'
import { below, leaksInDatabase, leaksOnMachine } from './sandbox-leaks.ts'
import { buildTortureProgram } from './program.ts'
import { rest, sessionChaos } from './session-chaos.ts'
import { TortureServer } from './server.ts'
import { randomFrom } from './random.ts'
import { World } from './world.ts'

let dir: string
let server: TortureServer
let world: World
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-ts-'))
  server = await TortureServer.make({ program: await buildTortureProgram(dir) })
  world = await World.make(server)
  await server.start({ sandboxes: true })
  await world.makeProjects()
}, 300_000)
afterAll(async () => {
  await world.close()
  await rm(dir, { recursive: true, force: true })
}, 120_000)

/** A process that ended meanwhile has no such file. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

const isStopped = (pid: number) => /\) T /.test(procFile(pid, 'stat'))

/** Whether the runtime listens, which it does after its first line of output. The sandbox has its own network. */
function listens(pid: number): boolean {
  const port = runtimePort.toString(16).toUpperCase().padStart(4, '0')
  return new RegExp(`:${port} 00000000:0000 0A `).test(procFile(pid, 'net/tcp'))
}

test('restarts a runtime that dies and says so, and fails the session when it keeps dying, with its last lines', async () => {
  const sessions = `/v1/projects/${world.projects[0]!.id}/sessions`
  const made = await world.insist<Session>('POST', sessions, {}, 'supervised')
  const path = `${sessions}/${made.body.session_id}`
  const look = async () => (await world.ask<Session>('GET', path)).body
  const runtimes = () => below(server.pid).filter(({ command }) => command.startsWith('opencode serve'))
  const answers = async () => {
    const { body } = await world.ask<{ messages: { role: string }[] }>('GET', `${path}/transcript`)
    return body.messages.filter(({ role }) => role === 'assistant').length
  }
  const prompt = async (text: string) => {
    const before = await answers()
    expect((await world.insist('POST', `${path}/prompt`, { text }, `supervised-prompt-${before}`)).status).toBe(202)
    await until('it answers', async () => (await answers()) > before)
  }
  await until('it runs', async () => (await look()).status === 'running')

  // Its next start waits for SIGCONT, so that the error stays visible.
  await prompt('Pause at your next start.')
  const [first] = runtimes()
  process.kill(first!.pid, 'SIGKILL')
  await until('it says so', async () =>
    /ended with exit code .* The runtime is restarting\.$/.test((await look()).error ?? ''),
  )
  const second = await until('the next one has started', async () => runtimes().find(({ pid }) => isStopped(pid)))
  process.kill(second.pid, 'SIGCONT')
  await until('it is fine again', async () => (await look()).error === null && (await look()).status === 'running')
  await prompt('Are you there?')

  const failed = await until('it has failed', async () => {
    for (const { pid } of runtimes().filter((each) => listens(each.pid))) process.kill(pid, 'SIGKILL')
    const session = await look()
    return session.status === 'failed' && session
  })
  expect(failed.error).toMatch(/^The agent runtime ended with exit code \d+\. Its last lines: .*the stand-in listens$/)
  await world.insist('DELETE', path, null, 'supervised-delete')
}, 300_000)

test('sessions end up running, stopped or failed, and leave nothing behind', async () => {
  await server.kill('SIGTERM')
  const report = await sessionChaos(world, { cycles: 6, workers: 2, random: randomFrom(42), killServers: true })
  await rest(world, report)
  report.problems.push(...(await leaksInDatabase(await server.databaseUrl())))
  await server.stopWithSessions()
  report.problems.push(...leaksOnMachine(server.dataDir, report.seen))
  expect(report.problems).toEqual([])
  expect(report.cycles).toBe(6)
  expect(report.seen.length).toBeGreaterThan(0)
}, 600_000)
