import { expect, test } from 'bun:test'
import { parseKeep } from './duration.ts'
import { backupsToRemove, timeOf } from './retention.ts'

const ids = ['20261101T000000Z-00000001', '20261120T000000Z-00000002', '20261125T120000Z-00000003']
const now = new Date('2026-11-26T00:00:00Z')

test('keeps a count of backups, or those that are young enough, and always the newest', () => {
  const at = { kept: [ids[2]!], now }
  expect(backupsToRemove(ids, { count: 2 }, at)).toEqual([ids[0]!])
  expect(backupsToRemove(ids, { count: 9 }, at)).toEqual([])
  expect(backupsToRemove(ids, parseKeep('7d')!, at)).toEqual([ids[0]!])
  expect(backupsToRemove(ids, parseKeep('1d')!, at)).toEqual([ids[0]!, ids[1]!])
  expect(timeOf(ids[2]!)).toBe(Date.parse('2026-11-25T12:00:00Z'))
})

test('neither counts nor removes backups of a clock that was ahead', () => {
  const at = { kept: [ids[2]!], now }
  const withLater = [...ids, '20380119T031407Z-00000004', '20380120T031407Z-00000005']
  expect(backupsToRemove(withLater, { count: 1 }, at)).toEqual([ids[0]!, ids[1]!])
  expect(backupsToRemove(withLater, { count: 2 }, at)).toEqual([ids[0]!])
  expect(backupsToRemove(withLater, { count: 3 }, at)).toEqual([])
})

test('keeps the newest complete backup while later ones are incomplete', () => {
  expect(backupsToRemove(ids, { count: 1 }, { kept: [ids[2]!, ids[0]!], now })).toEqual([ids[1]!])
})

test('a retention is a count or an age of at least a day, and never in minutes', () => {
  expect(parseKeep('30')).toEqual({ count: 30 })
  expect(parseKeep('2w')).toEqual({ ageMs: 14 * 86_400_000 })
  expect(parseKeep('24h')).toEqual({ ageMs: 86_400_000 })
  for (const text of ['0', '-1', '1y', 'all', '1.5d', '', '1m', '6m', '99999m', '23h'])
    expect(parseKeep(text)).toBeNull()
})
