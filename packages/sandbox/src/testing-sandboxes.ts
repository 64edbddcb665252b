/** What the tests of every driver share: a small PID 1 that does as it is told, and how to tell it. */
import { expect } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import type { Sandbox } from './driver.ts'

export const testLimits = {
  memoryBytesMax: 256 * 1024 ** 2,
  cpuMax: 2,
  processesMax: 128,
  diskBytesMax: 64 * 1024 ** 2,
}

/** The stand-in for svc, svc-agent and svc-entrypoint, compiled into the folder. */
export async function compileStub(folder: string): Promise<string> {
  const program = join(folder, 'svc')
  const source = resolve(import.meta.dir, 'local/stub-daemon.ts')
  const built = Bun.spawn([process.execPath, 'build', '--compile', source, '--outfile', program])
  expect(await built.exited).toBe(0)
  return program
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
    if (Date.now() > deadline) throw new Error(`Waited ${ms} ms in vain: ${what}`)
    await Bun.sleep(5)
  }
}

/** Processes of this machine whose command line holds the text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        // It ended while we looked.
        return false
      }
    })
}
