import { describe, expect, test } from 'bun:test'
import { Refusal, UsageError } from '../errors.ts'
import { ids, startService, svc } from '../testing.ts'
import { findOne } from './find-one.ts'

const items = [
  { id: 'aaaa0000-0000-4000-8000-000000000001', name: 'one' },
  { id: 'aaaa0000-0000-4000-8000-000000000002', name: 'twice' },
  { id: 'bbbb0000-0000-4000-8000-000000000003', name: 'twice' },
  { id: 'cccc0000-0000-4000-8000-000000000004', name: 'aaaa' },
]
const find = (given: string) =>
  findOne(items, given, {
    what: ['thing', 'things'],
    id: (item) => item.id,
    isNamed: (item) => item.name === given,
    next: ['svc things ls'],
  })
const thrown = (given: string): unknown => {
  try {
    return find(given)
  } catch (error) {
    return error
  }
}

describe('findOne', () => {
  test.each([
    [items[1]!.id.toUpperCase(), items[1]],
    ['one', items[0]],
    ['BBBB', items[2]],
    ['aaaa', items[3]],
  ])('finds %s by its id, its name or the start of its id', (given, expected) => {
    expect(find(given)).toBe(expected!)
  })

  test('refuses an ambiguous argument and lists the matching ids', () => {
    for (const given of ['twice', 'aaaa0']) {
      const error = thrown(given) as Refusal
      expect([error.code, error.message]).toEqual(['ambiguous', `2 things match "${given}"`])
      expect(error.detail.things).toHaveLength(2)
      expect(error.hint).toContain(items[1]!.id)
    }
  })

  test('refuses a missing item, and reports an id that is too short as a usage error', () => {
    expect(thrown('dddd')).toMatchObject({ name: 'Refusal', code: 'not_found', message: 'No thing matches "dddd"' })
    expect(thrown('no such name')).toBeInstanceOf(Refusal)
    expect(thrown('bbb')).toBeInstanceOf(UsageError)
  })
})

const env = { SVC_PROJECT_ID: ids.project }

describe('commands that accept the start of an id', () => {
  test.each([
    ['sessions stop'],
    ['tokens revoke'],
    ['webhooks show'],
    ['channels show'],
    ['browsers revoke'],
    ['connectors approve'],
  ])('svc %s exits with 1 for a missing item and with 2 for an id that is too short', async (line) => {
    await using service = startService()
    const missing = await svc([...line.split(' '), 'dead', '--json'], { service, env })
    expect([missing.code, missing.problem().code]).toEqual([1, 'not_found'])
    expect(missing.problem().error).toMatch(/^No .* matches "dead"$/)
    const short = await svc([...line.split(' '), 'dea'], { service, env })
    expect([short.code, short.stderr]).toEqual([2, expect.stringContaining('"dea" is too short') as string])
  })
})
