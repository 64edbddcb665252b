import { expect, test } from 'bun:test'
import { atMost, BootQueue, type PlaceInLine } from './boot-queue.ts'
import { byPressure, type Pressure, readPressure } from './pressure.ts'
import { until } from '../testing-until.ts'

const never = new AbortController().signal
const settle = () => new Promise((resolve) => setImmediate(resolve))
const megabyte = 1024 ** 2

/** Boots that end when the test says so. */
function starts(queue: BootQueue) {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const boot = (name: string, options: Parameters<BootQueue['run']>[2] = {}, signal = never) =>
    queue.run(
      signal,
      () => {
        begun.push(name)
        const end = Promise.withResolvers<void>()
        ends.set(name, end)
        return end.promise
      },
      options,
    )
  return { begun, ends, boot }
}

test('as many at once as it is told, in the order they came; a failed one makes room, one that gives up loses its place', async () => {
  const { begun, ends, boot } = starts(new BootQueue(atMost(2)))
  const leaving = new AbortController()
  const runs = [boot('0'), boot('1'), boot('2'), boot('3', {}, leaving.signal), boot('4'), boot('5')].map((run) =>
    run.then(
      () => 'ended',
      (error: unknown) => String(error),
    ),
  )
  await settle()
  expect(begun).toEqual(['0', '1'])
  leaving.abort('left')
  ends.get('0')!.reject(new Error('failed'))
  await settle()
  expect(begun).toEqual(['0', '1', '2'])
  ends.get('1')!.resolve()
  await settle()
  expect(begun).toEqual(['0', '1', '2', '4'])
  ends.get('2')!.resolve()
  ends.get('4')!.resolve()
  await settle()
  ends.get('5')!.resolve()
  expect(await Promise.all(runs)).toEqual(['Error: failed', 'ended', 'ended', 'left', 'ended', 'ended'])
  expect(() => leaving.signal.throwIfAborted()).toThrow()
})

test('owners take turns, whoever queues most, and everyone sees their place in line', async () => {
  const { begun, ends, boot } = starts(new BootQueue(atMost(1)))
  const places = new Map<string, PlaceInLine>()
  const from = (owner: string, name: string) => boot(name, { owner, onPlace: (place) => places.set(name, place) })
  const runs = [from('a', 'a1'), from('a', 'a2'), from('a', 'a3'), from('b', 'b1'), from('c', 'c1'), from('b', 'b2')]
  await until('all five to have a place', () => places.size === 5)
  expect([...places].map(([name, { place, of }]) => `${name}: ${place} of ${of}`).toSorted()).toEqual([
    'a2: 3 of 5',
    'a3: 5 of 5',
    'b1: 1 of 5',
    'b2: 4 of 5',
    'c1: 2 of 5',
  ])
  expect(places.get('b1')!.reason).toBe('another sandbox is starting')
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']) {
    expect(begun.at(-1)).toBe(name)
    ends.get(name)!.resolve()
    await settle()
  }
  await Promise.all(runs)
})

const idle: Pressure = { cpu: 0, memory: 0, io: 0, freeBytes: 8192 * megabyte, totalBytes: 16_384 * megabyte }

function admitted(load: Partial<Pressure>, booting: number, others = true) {
  return byPressure({ cores: 4, read: () => ({ ...idle, ...load }), othersRun: () => others })(booting)
}

test('a loaded machine boots fewer at once, and always one', () => {
  expect([admitted({}, 7), admitted({}, 8)]).toEqual([null, '8 other sandboxes are starting'])
  expect([admitted({ cpu: 75 }, 3), admitted({ cpu: 75 }, 4)]).toEqual([null, '4 other sandboxes are starting'])
  for (const load of [{ memory: 20 }, { io: 60 }])
    expect([admitted(load, 0), admitted(load, 1)]).toEqual([null, 'another sandbox is starting'])
})

test('each boot needs the memory of a session, and the first session always starts', () => {
  const freeBytes = 2100 * megabyte
  expect([admitted({ freeBytes }, 0), admitted({ freeBytes }, 2)]).toEqual([null, null])
  const reason = 'the machine has 2.1 GiB of free memory and a start needs 2.4 GiB'
  expect(admitted({ freeBytes }, 3)).toBe(reason)
  expect(admitted({ freeBytes: 100 * megabyte }, 0)).toContain('100 MiB of free memory')
  expect(admitted({ freeBytes: 100 * megabyte }, 0, false)).toBeNull()
  expect(admitted({ freeBytes: null, totalBytes: null }, 3)).toBeNull()
})

test('reads the load of this machine', () => {
  const { cpu, memory, io, freeBytes, totalBytes } = readPressure()
  for (const percent of [cpu, memory, io]) expect(percent).toBeWithin(0, 100.01)
  expect(freeBytes!).toBeWithin(1, totalBytes!)
})
