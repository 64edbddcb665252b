import { expect, test } from 'bun:test'
import { isoTime } from './pool.ts'
import { readTogether } from './read-together.ts'
import type { Db } from './schema.ts'

/** Reads a number that only rises; no caller may get a smaller one than there was at its call. */
function rising() {
  const waiting: (() => void)[] = []
  let [value, reads] = [0, 0]
  return {
    db: {} as Db,
    rise: () => ++value,
    reads: () => reads,
    async read() {
      reads++
      const seen = value
      await new Promise<void>((resolve) => waiting.push(resolve))
      return seen
    },
    async answer() {
      while (waiting.length === 0) await Bun.sleep(0)
      waiting.splice(0).forEach((go) => go())
      await Bun.sleep(0)
    },
  }
}

test('concurrent callers share a read that began after they asked', async () => {
  const one = rising()
  const ask = () => readTogether(one.db, 'key', one.read)
  const first = ask()
  while (one.reads() === 0) await Bun.sleep(0)
  one.rise()
  const later = Array.from({ length: 50 }, ask)
  await one.answer()
  expect(await first).toBe(0)
  await one.answer()
  expect(await Promise.all(later)).toEqual(Array.from({ length: 50 }, () => 1))
  expect(one.reads()).toBe(2)
})

test('other keys, databases and later callers read by themselves, and a failure is not cached', async () => {
  const [one, two] = [rising(), rising()]
  const all = [
    readTogether(one.db, 'a', one.read),
    readTogether(one.db, 'b', one.read),
    readTogether(two.db, 'a', two.read),
  ]
  await Promise.all([one.answer(), two.answer()])
  await Promise.all(all)
  expect([one.reads(), two.reads()]).toEqual([2, 1])
  const failing = readTogether(one.db, 'a', () => Promise.reject(new Error('away')))
  expect(failing).rejects.toThrow('away')
  await failing.catch(() => {})
  one.rise()
  const again = readTogether(one.db, 'a', one.read)
  await one.answer()
  expect(await again).toBe(1)
})

test('reads a time of the database with milliseconds', () => {
  const through = (text: string) => new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).toISOString()
  for (const rest of ['', '.1', '.12', '.123', '.123456', '.999999'])
    for (const zone of ['+00', '+02', '-07']) {
      const text = `2026-02-28 23:59:59${rest}${zone}`
      expect(isoTime(text)).toBe(through(text))
    }
})
