import { expect, test } from 'bun:test'
import { BootQueue } from './boot-queue.ts'

const never = new AbortController().signal

test('as many at once as it is told, in the order they came; a failed one makes room, one that gives up loses its place', async () => {
  const queue = new BootQueue(2)
  const begun: number[] = []
  const ends: Record<number, PromiseWithResolvers<void>> = {}
  const boot = (n: number, signal = never) =>
    queue.run(signal, () => {
      begun.push(n)
      return (ends[n] = Promise.withResolvers<void>()).promise
    })
  const leaving = new AbortController()
  const runs = [boot(0), boot(1), boot(2), boot(3, leaving.signal), boot(4), boot(5)].map((run) =>
    run.then(
      () => 'ended',
      (error: unknown) => String(error),
    ),
  )
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  await settle()
  expect(begun).toEqual([0, 1])
  leaving.abort('left')
  ends[0]!.reject(new Error('failed'))
  await settle()
  expect(begun).toEqual([0, 1, 2])
  ends[1]!.resolve()
  await settle()
  expect(begun).toEqual([0, 1, 2, 4])
  ends[2]!.resolve()
  ends[4]!.resolve()
  await settle()
  ends[5]!.resolve()
  expect(await Promise.all(runs)).toEqual(['Error: failed', 'ended', 'ended', 'left', 'ended', 'ended'])
  expect(() => leaving.signal.throwIfAborted()).toThrow()
})
