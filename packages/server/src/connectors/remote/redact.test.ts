/** Redaction removes every form of a credential completely and nothing else. */
import { describe, expect, test } from 'bun:test'
import { makeRedactor } from './redact.ts'

const mark = '[credential removed]'
const values = ['hunter22-of-the-connector', 'k+/=?ey with ümlaut-7', 'AAAAAAAAAAAAAAAA', '~~~~????>>>>~~~~x']
const url = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')

/** Bytes that the remaining base64 still encodes, before and after the mark. */
function around(clean: string): [string, string] {
  const [left = '', right = ''] = clean.split(mark)
  return [left, right]
}

describe.each(values)('redacting the base64 of text with %s', (value) => {
  const redact = makeRedactor([value])
  const befores = ['', 'u', 'us', 'use', 'user:', '\xff\xff\xff', 'ab\xff', '\0']
  const afters = ['', 'x', 'xy', 'xyz', '\xff\xff', '\0']

  test.each(befores.flatMap((before) => afters.map((after) => [before, after] as const)))(
    'removes every bit of the secret between %j and %j, and keeps the characters of its neighbors',
    (before, after) => {
      const bytes = Buffer.concat([Buffer.from(before, 'latin1'), Buffer.from(value), Buffer.from(after, 'latin1')])
      const encoded = bytes.toString('base64')
      for (const given of [encoded, url(encoded)]) {
        const clean = redact.text(`see ${given} there`)
        expect(clean.split(mark)).toHaveLength(2)
        const [left, right] = around(clean)
        const start = Buffer.from(before, 'latin1').length
        // Whole neighboring characters of six bits each.
        expect(left).toBe(`see ${given.slice(0, Math.floor((start * 8) / 6))}`)
        const end = Math.ceil(((start + Buffer.from(value).length) * 8) / 6)
        expect(right.replace(/^=+/, '')).toBe(`${given.slice(end)} there`.replace(/^=+/, ''))
      }
    },
  )

  test('keeps a neighboring character that has no bits of the secret', () => {
    const encoded = Buffer.from(`u${value}`).toString('base64').replace(/=+$/, '')
    const whole = redact.text(encoded)
    // The second character holds four bits of the value: a different one belongs to other text.
    const other = encoded[1] === 'W' ? 'B' : 'W'
    const changed = `${encoded[0]}${other}${encoded.slice(2)}`
    const [left] = around(redact.text(changed))
    expect(whole.startsWith(`${encoded[0]}${mark}`)).toBe(true)
    expect([`${encoded[0]}${other}`, encoded[0]]).toContain(left)
    const isOwn =
      (Buffer.from(`${other}A`, 'base64')[0]! >> 2) % 16 === (Buffer.from(`${encoded[1]}A`, 'base64')[0]! >> 2) % 16
    expect(left).toBe(isOwn ? encoded[0]! : `${encoded[0]}${other}`)
  })
})
