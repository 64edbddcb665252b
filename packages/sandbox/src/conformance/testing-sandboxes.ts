/** Shared by the drivers' tests: a small PID 1 that runs commands, and helpers to call it. */
import { expect } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join, resolve } from 'node:path'

import type { DriverUnderTest } from './conformance.ts'
import type { Sandbox, SandboxDriver } from '../driver.ts'

export const testLimits = {
  memoryBytesMax: 256 * 1024 ** 2,
  cpuMax: 2,
  processesMax: 128,
  diskBytesMax: 64 * 1024 ** 2,
}

/** The stub for svc, svc-agent, and svc-entrypoint, compiled into the folder. */
export async function compileStub(folder: string): Promise<string> {
  const program = join(folder, 'svc')
  const source = resolve(import.meta.dir, '../local/stub-daemon.ts')
  const built = Bun.spawn([process.execPath, 'build', '--compile', source, '--outfile', program])
  expect(await built.exited).toBe(0)
  return program
}

/** Stands in for the service's relay: a listener that sends nothing. */
export async function listenAsRelay(socket: string): Promise<Server> {
  const server = createServer((connection) => connection.end())
  mkdirSync(dirname(socket), { recursive: true, mode: 0o755 })
  await new Promise<void>((listening) => server.listen(socket, listening))
  chmodSync(socket, 0o666)
  return server
}

/** For the conformance suite, with the stub as its program. `afterwards` checks that nothing is left. */
export function underTest(
  driver: SandboxDriver,
  relaySocket: string,
  afterwards: () => void | Promise<void>,
): DriverUnderTest {
  return {
    driver,
    relaySocket,
    env: {},
    async endItself(sandboxId) {
      const sandbox = await driver.find(sandboxId)
      await fetch('http://daemon/exit?code=7', { unix: sandbox!.daemonSocket })
    },
    async close() {
      for (const sandbox of await driver.list()) await driver.stop(sandbox.sandboxId)
      await afterwards()
    },
  }
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

export async function runIn(sandbox: Sandbox, command: string[], as: 'agent' | 'daemon' = 'agent'): Promise<Ran> {
  const reply = await fetch('http://daemon/run', {
    unix: sandbox.daemonSocket,
    method: 'POST',
    body: JSON.stringify({ command, as }),
    signal: AbortSignal.timeout(170_000),
  })
  return (await reply.json()) as Ran
}

export async function until(what: string, look: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`Timed out after ${ms} ms waiting for: ${what}`)
    await Bun.sleep(5)
  }
}

/** Processes of this machine whose command line contains the text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        // It has ended.
        return false
      }
    })
}
