import { expect, test } from 'bun:test'
import { backupIdPattern, newBackupId } from './manifest.ts'

test('the ids of two backups in one second are in their order', () => {
  const times = ['22:02:37.004', '22:02:37.015', '22:02:37.016', '22:02:37.999', '22:02:38.000']
  const ids = times.map((time) => newBackupId(new Date(`2026-11-26T${time}Z`)))
  expect(ids.toReversed().toSorted()).toEqual(ids)
  expect(ids.filter((id) => !backupIdPattern.test(id))).toEqual([])
})
