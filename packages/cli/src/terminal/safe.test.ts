import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { colourPatch } from './colour-patch.ts'
import { safe, safeBlock, safeJson, safePatch } from './safe.ts'

/** Everything that a terminal interprets or hides. */
const acts =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/u

const hostile = [
  '\x1b[2J\x1b[H',
  '\x1b]0;title\x07',
  '\x1b]52;c;aGk=\x07',
  '\x1bP+q\x1b\\',
  '\x9b31m',
  '\x9d0;x\x9c',
  '\x07',
  '\b\b\b',
  '\r overwritten',
  '\u202egnp.exe',
  '\u2066hidden\u2069',
  '\u200b',
  '\u{e0041}',
  '\ud800',
  'a\nb',
  'a\tb',
  '\x7f',
  '\0',
  '\u2028',
  '\x1b]8;;http://evil\x07click\x1b]8;;\x07',
]

describe('safe', () => {
  test('safe makes control characters visible', () => {
    expect(safe('\x1b[31mred\x07')).toBe('␛[31mred␇')
    expect(safe('a\x9bb')).toBe('a<U+009B>b')
    expect(safe('file\u202egnp.exe')).toBe('file<U+202E>gnp.exe')
    expect(safe('two\nlines\tand a tab')).toBe('two␊lines␉and a tab')
    expect(safe('half \ud83d')).toBe('half �')
  })

  test('safe keeps ordinary text unchanged', () => {
    for (const text of ['Grüße', '日本語', 'שלום', '👩‍👩‍👧 family', 'é', 'a “quote” — and … more', '☕️'])
      expect(safe(text)).toBe(text)
  })

  test('safe keeps line breaks, and the carriage returns of a patch', () => {
    expect(safeBlock('a\r\n\tb\x1b')).toBe('a\n\tb␛')
    expect(safePatch('+a\r\n')).toBe('+a␍\n')
  })

  test('safe passes no control sequence for any generated input', () => {
    const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...hostile))
    fc.assert(
      fc.property(fc.array(anything), (parts) => {
        const text = parts.join('')
        expect(safe(text)).not.toMatch(acts)
        expect(safe(text)).not.toMatch(/[\n\t]/)
        expect(safeBlock(text)).not.toMatch(acts)
        expect(colourPatch(text, false)).not.toMatch(acts)
        const json = safeJson({ text })
        expect(json).not.toMatch(acts)
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ text })))
      }),
      { numRuns: 2000 },
    )
  })
})
