import { expect, test } from 'bun:test'

import type { Sandbox } from '../driver.ts'
import { adoptLate } from './late.ts'

/** A cluster in which the sandbox "left" goes on, and which answers from `answer` on. */
function makeCluster(leaseMs: number, failures = 0) {
  let lists = 0
  let reached: 'yes' | 'no' | 'refused' = 'no'
  const live = new Map<string, Sandbox>()
  const said = Promise.withResolvers<void>()
  const sandboxOf = (sandboxId: string): Sandbox => ({ sandboxId, externalId: sandboxId, daemonSocket: '' })
  const add = (sandboxId: string) => {
    live.set(sandboxId, sandboxOf(sandboxId))
    return sandboxOf(sandboxId)
  }
  const stopped: string[] = []
  let swept = 0
  const driver = adoptLate(
    {
      create: async ({ sandboxId }) => add(sandboxId),
      adopt: async () => {
        if (lists++ < failures) throw new Error('etcdserver: leader changed')
        return reached === 'yes' ? [add('left')] : []
      },
      find: async (sandboxId) => live.get(sandboxId) ?? null,
      stop: async (sandboxId) => void stopped.push(sandboxId),
      sweep: async () => void swept++,
    },
    {
      reach: async () => reached,
      ...{ leaseMs, firstMs: 5, againMs: 5 },
      log: (message) => message.startsWith('sandboxes of the earlier server go on') && said.resolve(),
    },
  )
  return {
    ...{ driver, stopped, adopted: said.promise, swept: () => swept },
    answer: (how: typeof reached) => void (reached = how),
  }
}

const limits = { memoryBytesMax: 1, cpuMax: 1, processesMax: 1, diskBytesMax: 1 }
const make = (sandboxId: string) => ({ sandboxId, env: {}, limits, relaySocket: null })

test('sandboxes are adopted once the cluster answers, and none is taken for gone before', async () => {
  const { driver, adopted, answer, stopped, swept } = makeCluster(60_000)
  expect(await driver.adopt()).toEqual([])
  await driver.sweep()
  expect(swept()).toBe(0)
  await expect(driver.find('left')).rejects.toThrow('The cluster does not answer')
  await expect(driver.stop('left')).rejects.toThrow('The cluster does not answer')
  await driver.create(make('own'), new AbortController().signal)
  expect((await driver.find('own'))?.sandboxId).toBe('own')
  await driver.stop('own')
  answer('yes')
  await adopted
  expect((await driver.find('left'))?.sandboxId).toBe('left')
  expect(await driver.find('gone')).toBeNull()
  await driver.stop('left')
  expect(stopped).toEqual(['own', 'left'])
  expect(swept()).toBe(1)
})

test.each(['before', 'after'])(
  'a list that fails while the cluster recovers is read again (%s its first answer)',
  async (when) => {
    const { driver, adopted, answer } = makeCluster(60_000, 2)
    if (when === 'after') answer('yes')
    expect(await driver.adopt()).toEqual([])
    answer('yes')
    await adopted
    expect((await driver.find('left'))?.sandboxId).toBe('left')
  },
)

test('nothing waits for a cluster that refuses this server, or without a lease', async () => {
  const refusing = makeCluster(60_000)
  refusing.answer('refused')
  const withoutLease = makeCluster(0)
  for (const { driver } of [refusing, withoutLease]) {
    expect(await driver.adopt()).toEqual([])
    expect(await driver.find('left')).toBeNull()
  }
})

test('after the lease nothing goes on', async () => {
  const { driver, adopted } = makeCluster(1)
  await driver.adopt()
  await adopted
  expect(await driver.find('left')).toBeNull()
})
