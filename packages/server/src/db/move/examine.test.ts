import { expect, test } from 'bun:test'
import { type Facts, problemOf } from './examine.ts'

const good: Facts = {
  version: 150_000,
  versionText: '15.0',
  isStandby: false,
  encoding: 'UTF8',
  schema: 'public',
  mayCreate: true,
  connections: 33,
}
const at = { user: 'svc', database: 'data' }

test('the data can go to PostgreSQL 15, and not to an older one, a standby, or a role without a schema', () => {
  expect(problemOf(good, at)).toBeNull()
  expect(problemOf({ ...good, version: 140_013, versionText: '14.13' }, at)).toBe(
    'it is PostgreSQL 14.13, and servers need version 15 or newer',
  )
  expect(problemOf({ ...good, isStandby: true }, at)).toContain('Use the address of the primary')
  expect(problemOf({ ...good, schema: null, mayCreate: null }, at)).toContain('CREATE SCHEMA AUTHORIZATION "svc"')
})
