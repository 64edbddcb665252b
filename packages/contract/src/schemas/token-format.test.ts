import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { base62, isWellFormedToken, makeToken } from './token-format.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const random = (count: number): Uint8Array => randomBytes(count)

/** The rule of the specification in other words than the code's: zlib's CRC32, written in base 62 by BigInt division. */
function expectedChecksum(body: string): string {
  let left = BigInt(crc32(body))
  const places: string[] = []
  for (let place = 0; place < 6; place++) {
    places.unshift(digits[Number(left % 62n)]!)
    left /= 62n
  }
  return places.join('')
}

describe('the format of tokens', () => {
  // Computed with another language's zlib.
  test.each([
    `${'0'.repeat(36)}0etOEM`,
    `${'z'.repeat(36)}1ej79G`,
    '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0TyBiU',
    'abcdefghijklmnopqrstuvwxyz0123456789464tr9',
  ])('accepts the token svc_pat_%s', (text) => {
    expect(isWellFormedToken(`svc_pat_${text}`)).toBeTrue()
    expect(expectedChecksum(text.slice(0, 36))).toBe(text.slice(36))
  })

  test('makes well-formed tokens that all differ', () => {
    const made = Array.from({ length: 2_000 }, () => makeToken(random))
    expect(new Set(made).size).toBe(made.length)
    for (const token of made) {
      expect(token).toMatch(/^svc_pat_[0-9A-Za-z]{42}$/)
      expect(token.slice(-6)).toBe(expectedChecksum(token.slice(8, 44)))
    }
  })

  test('refuses a token with any one character replaced', () => {
    const token = makeToken(random)
    const others = `${digits}-_. \n`
    for (let at = 0; at < token.length; at++) {
      for (const other of others) {
        if (other === token[at]) continue
        expect(isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1))).toBeFalse()
      }
    }
  })

  test('refuses a token with two neighboring characters swapped, cut short or extended', () => {
    const token = makeToken(random)
    for (let at = 0; at + 1 < token.length; at++) {
      if (token[at] === token[at + 1]) continue
      expect(isWellFormedToken(token.slice(0, at) + token[at + 1] + token[at] + token.slice(at + 2))).toBeFalse()
    }
    for (let length = 0; length < token.length; length++) expect(isWellFormedToken(token.slice(0, length))).toBeFalse()
    for (const more of [`${token}0`, `0${token}`, `${token}\n`, ` ${token}`, token.replace('pat', 'sbx')])
      expect(isWellFormedToken(more)).toBeFalse()
  })
})

test('base62 uses every character about equally often, and draws more bytes when too many are rejected', () => {
  const counts = new Map<string, number>()
  for (const char of base62(62_000, random)) counts.set(char, (counts.get(char) ?? 0) + 1)
  expect(counts.size).toBe(62)
  // 1,000 expected of each; six standard deviations of the binomial are 190.
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(190)

  let asked = 0
  const mostlyRefused = (count: number) => new Uint8Array(count).fill(asked++ === 0 ? 255 : 61)
  expect(base62(3, mostlyRefused)).toBe('zzz')
  expect(asked).toBe(2)
})
