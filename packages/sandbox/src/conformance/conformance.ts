/** Behavior that every driver must have, including the fake one, so that the server works with all of them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import { type SandboxDriver, SandboxError, type SandboxExit, type SandboxSpec } from '../driver.ts'

export interface DriverUnderTest {
  driver: SandboxDriver
  /** A socket with a listener. */
  relaySocket: string
  /** The environment that starts a sandbox of this driver. */
  env: Record<string, string>
  /** Makes a live sandbox end by itself. */
  endItself(sandboxId: string): Promise<void>
  close(): Promise<void>
}

const never = new AbortController().signal
let serial = 0
const newId = () => `conformance-${process.pid}-${++serial}`

export function driverConformance(name: string, makeDriver: () => Promise<DriverUnderTest>): void {
  describe(`driver ${name}`, () => {
    let under: DriverUnderTest
    let driver: SandboxDriver

    const specOf = (sandboxId: string, env: Record<string, string> = {}): SandboxSpec => ({
      sandboxId,
      env: { ...under.env, ...env },
      limits: { memoryBytesMax: 512 * 1024 ** 2, cpuMax: 1, processesMax: 128, diskBytesMax: 64 * 1024 ** 2 },
      relaySocket: under.relaySocket,
    })
    const failure = async (promise: Promise<unknown>): Promise<SandboxError> => {
      const error = await promise.then(
        () => null,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(SandboxError)
      return error as SandboxError
    }

    beforeAll(async () => {
      under = await makeDriver()
      driver = under.driver
    })
    afterAll(async () => {
      await under.close()
    })

    test('reports that it can isolate', async () => {
      expect((await driver.probe()).kind).toBe('ready')
    })

    test('create resolves once the daemon answers, and the sandbox is found and listed', async () => {
      const id = newId()
      const sandbox = await driver.create(specOf(id), never)
      const health = await fetch('http://daemon/svc/health', { unix: sandbox.daemonSocket })
      expect(health.status).toBe(200)
      expect(((await health.json()) as { daemon: string }).daemon).toBe('ok')
      expect(await driver.find(id)).toEqual(sandbox)
      expect((await driver.list()).map((one) => one.sandboxId)).toContain(id)
      await driver.stop(id)
    })

    test('stop leaves nothing behind, is not an exit, and may be repeated', async () => {
      const id = newId()
      const exits: SandboxExit[] = []
      const unsubscribe = driver.onExit((exit) => exits.push(exit))
      const sandbox = await driver.create(specOf(id), never)
      await Promise.all([driver.stop(id), driver.stop(id)])
      await driver.stop(id)
      expect(await driver.find(id)).toBeNull()
      expect((await driver.list()).map((one) => one.sandboxId)).not.toContain(id)
      expect(existsSync(sandbox.daemonSocket)).toBe(false)
      expect(exits).toEqual([])
      unsubscribe()
    })

    test('stop of an unknown id is success', async () => {
      await driver.stop(newId())
    })

    test('a sandbox that ends by itself is reported once, with a reason', async () => {
      const id = newId()
      const heard = Promise.withResolvers<SandboxExit>()
      const exits: SandboxExit[] = []
      const unsubscribe = driver.onExit((exit) => {
        exits.push(exit)
        heard.resolve(exit)
      })
      await driver.create(specOf(id), never)
      await under.endItself(id)
      const exit = await heard.promise
      expect(exit.sandboxId).toBe(id)
      expect(exit.reason).toMatch(/ended/)
      expect(await driver.find(id)).toBeNull()
      await driver.stop(id)
      expect(exits.length).toBe(1)
      unsubscribe()
    })

    test('an unsubscribed listener is not called', async () => {
      const id = newId()
      const heard: SandboxExit[] = []
      driver.onExit((exit) => heard.push(exit))()
      const other = Promise.withResolvers<void>()
      const unsubscribe = driver.onExit(() => other.resolve())
      await driver.create(specOf(id), never)
      await under.endItself(id)
      await other.promise
      expect(heard).toEqual([])
      unsubscribe()
    })

    test('an abort before or during create leaves nothing', async () => {
      const id = newId()
      expect((await failure(driver.create(specOf(id), AbortSignal.abort()))).kind).toBe('aborted')
      const giveUp = new AbortController()
      const creating = driver.create(specOf(id), giveUp.signal)
      giveUp.abort()
      expect((await failure(creating)).kind).toBe('aborted')
      expect(await driver.find(id)).toBeNull()
      // The id can be used again, so nothing of it is left.
      await driver.create(specOf(id), never)
      await driver.stop(id)
    })

    test('a stop during create ends it', async () => {
      const id = newId()
      const creating = failure(driver.create(specOf(id), never))
      await driver.stop(id)
      expect((await creating).kind).toBe('aborted')
      expect(await driver.list()).toEqual([])
    })

    test('an id in use cannot be created again', async () => {
      const id = newId()
      const sandbox = await driver.create(specOf(id), never)
      expect((await failure(driver.create(specOf(id), never))).kind).toBe('boot-failed')
      expect(await driver.find(id)).toEqual(sandbox)
      await driver.stop(id)
    })

    test('several sandboxes run at once, and stopping one leaves the others running', async () => {
      const ids = [newId(), newId(), newId()]
      const made = await Promise.all(ids.map((id) => driver.create(specOf(id), never)))
      expect(new Set(made.map((one) => one.daemonSocket)).size).toBe(3)
      await driver.stop(ids[0]!)
      expect((await driver.list()).map((one) => one.sandboxId).sort()).toEqual(ids.slice(1).sort())
      const health = await fetch('http://daemon/svc/health', { unix: made[1]!.daemonSocket })
      expect(health.status).toBe(200)
      await Promise.all(ids.map((id) => driver.stop(id)))
    })

    test.each(['../up', '', 'a/b', '.', 'x'.repeat(65), 'with space'])('the id %j is refused', async (id) => {
      expect((await failure(driver.create(specOf(id), never))).kind).toBe('boot-failed')
    })

    test.each([
      ['1A', 'x'],
      ['A=B', 'x'],
      ['', 'x'],
      ['A', 'x\0y'],
    ])('the environment %j=%j is refused', async (variable, value) => {
      expect((await failure(driver.create(specOf(newId(), { [variable]: value }), never))).kind).toBe('boot-failed')
    })

    test('a sweep leaves live sandboxes alone', async () => {
      const id = newId()
      const sandbox = await driver.create(specOf(id), never)
      await driver.sweep()
      expect((await fetch('http://daemon/svc/health', { unix: sandbox.daemonSocket })).status).toBe(200)
      await driver.stop(id)
    })
  })
}
