import { describe, expect, test } from 'bun:test'
import { LaneBusy, type LaneLimits, LaneQueue } from './child-queue.ts'

/** The entries in order, each with a function that ends it. */
function lane(limits: Partial<LaneLimits>) {
  const queue = new LaneQueue({ width: 6, share: 6, waiting: 100, ...limits })
  const entered: string[] = []
  const leaving = new Map<string, () => void>()
  const enter = async (name: string, signal?: AbortSignal) => {
    // `x-a0`: the group x, the key x-a.
    const key = name.replace(/\d+$/, '')
    const leave = await queue.enter({ key, group: /^(.+)-/.exec(name)?.[1] }, signal)
    entered.push(name)
    leaving.set(name, leave)
  }
  const settle = async () => {
    for (let n = 0; n < 5; n++) await Promise.resolve()
  }
  const leave = async (name: string) => {
    leaving.get(name)?.()
    leaving.get(name)?.()
    await settle()
  }
  return { enter, entered, leave, settle }
}
const names = (key: string, count: number) => Array.from({ length: count }, (_, index) => `${key}${index}`)

describe('the queue of git processes', () => {
  test('runs as many processes as the lane allows; the others wait in order', async () => {
    const { enter, entered, leave, settle } = lane({})
    const all = names('a', 20).map((name) => enter(name))
    await settle()
    expect(entered).toEqual(names('a', 6))
    for (const name of names('a', 20)) await leave(name)
    await Promise.all(all)
    expect(entered).toEqual(names('a', 20))
  })

  test('limits each key to its share, and other keys pass its waiting processes', async () => {
    const { enter, entered, leave, settle } = lane({ share: 4 })
    const all = [...names('a', 10), ...names('b', 2)].map((name) => enter(name))
    await settle()
    expect(entered).toEqual([...names('a', 4), ...names('b', 2)])
    await leave('b0')
    expect(entered).toHaveLength(6)
    await leave('a0')
    expect(entered.at(-1)).toBe('a4')
    for (const name of names('a', 10)) await leave(name)
    await Promise.all(all)
  })

  test('gives a free place to the key with the fewest processes, in turn among equals', async () => {
    const { enter, entered, leave, settle } = lane({ width: 4, share: 2 })
    const all = [...names('a', 6), ...names('b', 6), 'c0', 'd0'].map((name) => enter(name))
    await settle()
    expect(entered).toEqual(['a0', 'a1', 'b0', 'b1'])
    await leave('a0')
    await leave('b0')
    expect(entered.slice(4)).toEqual(['c0', 'd0'])
    await leave('c0')
    await leave('d0')
    expect(entered.slice(6)).toEqual(['a2', 'b2'])
    for (const name of [...names('a', 6), ...names('b', 6)].sort((a, b) => (a.slice(1) < b.slice(1) ? -1 : 1)))
      await leave(name)
    await Promise.all(all)
  })

  test('limits the keys of a group to a common share, and gives a free place to the group with the fewest processes', async () => {
    const { enter, entered, leave, settle } = lane({ share: 2, groupShare: 4 })
    const keys = ['x-a', 'x-b', 'x-c', 'x-d', 'x-e', 'x-f']
    const all = keys.flatMap((key) => names(key, 2).map((name) => enter(name)))
    await settle()
    expect(entered).toEqual([...names('x-a', 2), ...names('x-b', 2)])
    all.push(...names('y-a', 3).map((name) => enter(name)))
    await settle()
    expect(entered.slice(4)).toEqual(names('y-a', 2))
    await leave('x-a0')
    await leave('y-a0')
    expect(entered.slice(6)).toEqual(['x-c0', 'y-a2'])
    for (const name of [...keys.flatMap((key) => names(key, 2)), ...names('y-a', 3)]) await leave(name)
    for (const name of [...keys.flatMap((key) => names(key, 2)), ...names('y-a', 3)]) await leave(name)
    await Promise.all(all)
  })

  test('refuses a process of a group whose line is full, and accepts those of others', async () => {
    const { enter, entered, leave, settle } = lane({ width: 3, share: 1, groupShare: 2, waiting: 3, groupWaiting: 2 })
    const all = ['x-a0', 'x-b0', 'x-c0', 'x-d0'].map((name) => enter(name))
    await settle()
    expect(await enter('x-e0').catch((error: unknown) => error)).toBeInstanceOf(LaneBusy)
    await enter('y-a0')
    expect(entered).toEqual(['x-a0', 'x-b0', 'y-a0'])
    for (const name of ['x-a0', 'x-b0', 'x-c0', 'x-d0']) await leave(name)
    await Promise.all(all)
  })

  test('refuses a process of a key whose line is full, and accepts those of others', async () => {
    const { enter, entered, leave, settle } = lane({ width: 2, share: 1, waiting: 3 })
    const all = names('a', 4).map((name) => enter(name))
    await settle()
    expect(await enter('a4').catch((error: unknown) => error)).toBeInstanceOf(LaneBusy)
    await enter('b0')
    expect(entered).toEqual(['a0', 'b0'])
    for (const name of names('a', 4)) await leave(name)
    await Promise.all(all)
  })

  test('refuses processes that waited too long, and forgets aborted ones', async () => {
    const { enter, entered, leave } = lane({ share: 1, waitMs: 20 })
    await enter('a0')
    expect(await enter('a1').catch((error: unknown) => error)).toBeInstanceOf(LaneBusy)
    const leaver = new AbortController()
    const left = enter('a2', leaver.signal).catch((error: unknown) => error)
    leaver.abort(new Error('left'))
    expect(await left).toEqual(new Error('left'))
    await leave('a0')
    await enter('a3')
    expect(entered).toEqual(['a0', 'a3'])
  })
})
