/** The forms in which a secret may leak: as it is, and in encodings that programs commonly produce. */

/** Shorter values are ordinary words, numbers and names, which files legitimately contain. */
export const guardedCharsMin = 16
/** The start of a long value identifies it and limits a reader's memory. */
export const formBytesMax = 256

export interface SecretForm {
  name: string
  as: string
  bytes: Buffer
}

export function formsOf(name: string, value: string): SecretForm[] {
  if (value.length < guardedCharsMin) return []
  const parts = [value, ...longLines(value)]
  const seen = new Set<string>()
  return parts
    .flatMap((part) => encodings(part))
    .map(([as, text]) => ({ name, as, bytes: Buffer.from(text).subarray(0, formBytesMax) }))
    .filter(
      ({ bytes }) =>
        bytes.length >= guardedCharsMin && !seen.has(bytes.toString('latin1')) && seen.add(bytes.toString('latin1')),
    )
}

/** A multi-line key may appear with other line endings or indented. */
function longLines(value: string): string[] {
  if (!value.includes('\n')) return []
  return value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= 32 && !line.startsWith('-----'))
    .slice(0, 3)
}

export type Encoding = 'it is' | 'base64' | 'hex' | 'URL encoding' | 'JSON' | 'shell quotes'

export function encodings(value: string): [Encoding, string][] {
  const bytes = Buffer.from(value, 'utf8')
  const hex = bytes.toString('hex')
  const percent = encodeURIComponent(value.toWellFormed())
  const json = JSON.stringify(value).slice(1, -1)
  return [
    ['it is', value],
    ...[0, 1, 2].flatMap((before): [Encoding, string][] => {
      const base64 = base64At(bytes, before)
      return [
        ['base64', base64],
        ['base64', base64.replaceAll('+', '-').replaceAll('/', '_')],
      ]
    }),
    ['hex', hex],
    ['hex', hex.toUpperCase()],
    ['URL encoding', percent],
    ['URL encoding', percent.replaceAll('%20', '+')],
    ['URL encoding', percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
    ['URL encoding', strictPercent(percent)],
    ['JSON', json],
    ['JSON', json.replaceAll('/', '\\/')],
    ['JSON', ascii(json)],
    ['shell quotes', value.replace(/["\\$`]/g, '\\$&')],
    ['shell quotes', value.replaceAll("'", `'\\''`)],
  ]
}

/** Some encoders leave only letters, digits and -._~ unescaped. */
function strictPercent(percent: string): string {
  return percent.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** As Python writes JSON. */
function ascii(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The part of a base64 text that does not depend on the surrounding bytes, for a value `before` bytes into a group of three. */
export function base64At(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const isWhole = (before + bytes.length) % 3 === 0
  return text.slice([0, 2, 3][before], isWhole ? undefined : -1)
}
