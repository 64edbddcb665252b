import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { attachmentFileName } from './attachments.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text).length

describe('file names of attachments', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom('.', '..', '-', '/', ' ', '.png', '\u00e9', '\u{20000}', '\ud800'),
    fc
      .tuple(fc.constantFrom('a', '\u00e9', '\uc124', '\u{20000}', '.', '_'), fc.nat(200))
      .map(([char, count]) => char.repeat(count)),
  )
  const name = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''))

  test('a file name is one path segment of at most 200 bytes, and normalizing it again changes nothing', () => {
    fc.assert(
      fc.property(name, (given) => {
        const once = attachmentFileName(given)
        expect(attachmentFileName(once)).toBe(once)
        expect(bytesOf(once)).toBeLessThanOrEqual(200)
        expect(once).toMatch(/^(?!-|\.\.|\.$)[\p{L}\p{M}\p{N}._+@=-]+$/u)
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ['\u00e9'.repeat(95) + '.' + 'y'.repeat(30), '\u00e9'.repeat(95) + '.yyyyyyyyy'],
    ['\uc124'.repeat(60) + '.' + '\uba85'.repeat(15), '\uc124'.repeat(51) + '.' + '\uba85'.repeat(15)],
    ['a'.repeat(250) + '.png', 'a'.repeat(196) + '.png'],
    ['plan.txt', 'plan.txt'],
  ])('shortens a long file name and keeps a short extension: %s', (given, expected) => {
    expect(attachmentFileName(given)).toBe(expected)
  })
})
