import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createLifecycle, type Entry, socketIn } from './lifecycle.ts'

test('the end of a sandbox is reported even if what runs sandboxes does not answer any more', async () => {
  const runRoot = await mkdtemp(join(tmpdir(), 'svc-life-'))
  const daemon = createServer((_, response) => response.end())
  const gone = () => Promise.reject(new Error('Unable to connect.'))
  let entry: Entry | null = null
  const lifecycle = createLifecycle<object>({
    ...{ runRoot, bootMs: 10_000, pollMs: 20, leaseSeconds: 0, log: () => {}, blank: () => ({}) },
    async start(made, { sandboxId }) {
      entry = made
      await mkdir(join(runRoot, sandboxId))
      await new Promise<void>((resolve) => daemon.listen(socketIn(runRoot, sandboxId), resolve))
    },
    ...{ started() {}, watch() {}, leftBehind: async () => [], endedEarly: () => new Error('early') },
    explain: (error) => error as never,
    externalId: () => 'one',
    ...{ memoryTrouble: gone, lastLines: gone, remove: gone, sweep: async () => {} },
  })
  const limits = { memoryBytesMax: 1, cpuMax: 1, processesMax: 1, diskBytesMax: 1 }
  await lifecycle.create({ sandboxId: 'one', env: {}, limits, relaySocket: null }, new AbortController().signal)
  const reported: string[] = []
  lifecycle.onExit(({ reason }) => void reported.push(reason))
  await lifecycle.ended(entry!, 'because its pod was deleted')
  expect(reported).toEqual(['The sandbox ended by itself because its pod was deleted.'])
  daemon.close()
  await rm(runRoot, { recursive: true, force: true })
})
