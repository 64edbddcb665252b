import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createLifecycle, type Entry, socketIn } from './lifecycle.ts'

/** One sandbox, whose daemon is here. */
async function oneSandbox(machine: { remove(): Promise<void>; details(): Promise<string> }) {
  const runRoot = await mkdtemp(join(tmpdir(), 'svc-life-'))
  const daemon = createServer((_, response) => response.end())
  let entry: Entry | null = null
  const lifecycle = createLifecycle<object>({
    ...{ runRoot, bootMs: 10_000, pollMs: 20, leaseSeconds: 0, log: () => {}, blank: () => ({}) },
    async start(made, { sandboxId }, { untilAnswers }) {
      entry = made
      await mkdir(join(runRoot, sandboxId))
      await new Promise<void>((resolve) => daemon.listen(socketIn(runRoot, sandboxId), resolve))
      await untilAnswers()
    },
    ...{ started() {}, watch() {}, leftBehind: async () => [], endedEarly: () => new Error('early') },
    explain: (error) => error as never,
    externalId: () => 'one',
    ...{ memoryTrouble: machine.details, lastLines: machine.details, remove: machine.remove, sweep: async () => {} },
  })
  const limits = { memoryBytesMax: 1, cpuMax: 1, processesMax: 1, diskBytesMax: 1 }
  await lifecycle.create({ sandboxId: 'one', env: {}, limits, relaySocket: null }, new AbortController().signal)
  const close = async () => {
    daemon.close()
    await rm(runRoot, { recursive: true, force: true })
  }
  return { lifecycle, entry: entry!, close }
}

const gone = () => Promise.reject(new Error('Unable to connect.'))

test('the end of a sandbox is reported even if what runs sandboxes does not answer any more', async () => {
  const { lifecycle, entry, close } = await oneSandbox({ remove: gone, details: gone })
  const reported: string[] = []
  lifecycle.onExit(({ reason }) => void reported.push(reason))
  await lifecycle.ended(entry, 'because its pod was deleted')
  expect(reported).toEqual(['The sandbox ended by itself because its pod was deleted.'])
  await close()
})

test('a sandbox that could not be removed is removed by the next stop', async () => {
  let isReached = false
  let removed = 0
  const remove = async () => {
    if (!isReached) await gone()
    removed += 1
  }
  const { lifecycle, close } = await oneSandbox({ remove, details: gone })
  await expect(lifecycle.stop('one')).rejects.toThrow('Unable to connect.')
  isReached = true
  await lifecycle.stop('one')
  expect(removed).toBe(1)
  await lifecycle.stop('one')
  expect(removed).toBe(1)
  await close()
})
