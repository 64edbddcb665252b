import { describe, expect, test } from 'bun:test'
import { yieldsToOthers } from '@svc/git/testing'
import { z } from 'zod'
import { writeReply } from './write-reply.ts'

const row = z.object({ n: z.number(), word: z.string().optional() })
const reply = z.object({
  before: z.string(),
  rows: z.array(row),
  few: z.array(row),
  maybe: z.array(z.string()).optional(),
  text: z.string(),
})

const rows = Array.from({ length: 12_345 }, (_, n) => ({ n, word: n % 2 ? `"${n}"\n` : undefined, secret: 'x' }))
const text = `${'a'.repeat(256 * 1024 - 1)}😀\n"\u2028`.repeat(3)
const result = { before: 'é', rows, few: rows.slice(0, 3), maybe: undefined, text, secret: 'x' }

describe('a reply', () => {
  test('that is long says the same as one that is written at once', async () => {
    const written = await writeReply(reply, result)
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(reply.parse(result))))
    expect(written).not.toContain('secret')
  })

  test('that breaks its schema in a late row does not leave', async () => {
    const broken = { ...result, rows: [...rows, { n: 'no number' }] }
    await expect(writeReply(reply, broken)).rejects.toThrow(z.ZodError)
  })

  test('of a list with rules of its own is held against them as a whole', async () => {
    const atMost = z.object({ rows: z.array(row).max(10_000) })
    await expect(writeReply(atMost, { rows })).rejects.toThrow(z.ZodError)
  })

  test('of a long list lets others in between', async () => {
    const turns = await yieldsToOthers(() => writeReply(reply, result))
    expect(turns).toBeGreaterThan(10)
  })

  test('that is no object is written, too', async () => {
    expect(await writeReply(z.array(row), rows)).toBe(JSON.stringify(z.array(row).parse(rows)))
    expect(await writeReply(z.null(), null)).toBe('null')
  })
})
