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

describe('writing a reply', () => {
  test('writes a long reply in the same bytes as a short one', async () => {
    const written = await writeReply(reply, result)
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(reply.parse(result))))
    expect(written).not.toContain('secret')
  })

  test('sends nothing of a reply that breaks its schema in a late row', async () => {
    const broken = { ...result, rows: [...rows, { n: 'no number' }] }
    await expect(writeReply(reply, broken)).rejects.toThrow(z.ZodError)
  })

  test('checks the rules of a list as a whole', async () => {
    const atMost = z.object({ rows: z.array(row).max(10_000) })
    await expect(writeReply(atMost, { rows })).rejects.toThrow(z.ZodError)
  })

  test('yields to other work while it writes a long list', async () => {
    const turns = await yieldsToOthers(() => writeReply(reply, result))
    expect(turns).toBeGreaterThan(10)
  })

  test('writes a reply that is no object', async () => {
    expect(await writeReply(z.array(row), rows)).toBe(JSON.stringify(z.array(row).parse(rows)))
    expect(await writeReply(z.null(), null)).toBe('null')
  })
})
