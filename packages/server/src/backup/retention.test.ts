import { expect, test } from 'bun:test'
import { parseKeep } from './duration.ts'
import { backupsToRemove, timeOf } from './retention.ts'

const ids = ['20261101T000000Z-00000001', '20261120T000000Z-00000002', '20261125T120000Z-00000003']
const now = new Date('2026-11-26T00:00:00Z')

test('keeps a count of backups, or those that are young enough, and always the newest', () => {
  expect(backupsToRemove(ids, { count: 2 }, now)).toEqual([ids[0]!])
  expect(backupsToRemove(ids, { count: 9 }, now)).toEqual([])
  expect(backupsToRemove(ids, parseKeep('7d')!, now)).toEqual([ids[0]!])
  expect(backupsToRemove(ids, parseKeep('1h')!, now)).toEqual([ids[0]!, ids[1]!])
  expect(timeOf(ids[2]!)).toBe(Date.parse('2026-11-25T12:00:00Z'))
})

test('a retention is a count or a duration', () => {
  expect(parseKeep('30')).toEqual({ count: 30 })
  expect(parseKeep('2w')).toEqual({ ageMs: 14 * 86_400_000 })
  for (const text of ['0', '-1', '1y', 'all', '1.5d', '']) expect(parseKeep(text)).toBeNull()
})
