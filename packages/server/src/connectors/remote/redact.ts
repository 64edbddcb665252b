/** Redacts a credential in a connector's response, in the encodings that programs commonly produce. */

export interface Redactor {
  text(text: string): string
  /** Redacts all strings within, keys included. */
  value<T>(value: T): T
}

const mark = '[credential removed]'

export function makeRedactor(parts: string[]): Redactor {
  // Longest first, so that a form that contains another is replaced whole.
  const forms = [...new Map(parts.flatMap(formsOf).map((form) => [form.core, form])).values()]
  forms.sort((a, b) => b.core.length - a.core.length)
  const text = (given: string) =>
    // The expression is slow, and few texts contain its core.
    forms.reduce((clean, { core, whole }) => (clean.includes(core) ? clean.replaceAll(whole, mark) : clean), given)
  return { text, value: (given) => (forms.length === 0 ? given : inTexts(given, text)) }
}

/** Applies `change` to every string within, keys included. */
export function inTexts<T>(given: T, change: (text: string) => string): T {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), walk(inner)]))
  }
  return walk(given) as T
}

interface Form {
  /** Occurs in every text that contains the part in this form. */
  core: string
  /** Includes characters that encode the part together with its neighbors. */
  whole: string | RegExp
}

function formsOf(part: string): Form[] {
  const bytes = Buffer.from(part)
  const hex = bytes.toString('hex')
  const percent = encodeURIComponent(part)
  const plain = [
    ...[part, hex, hex.toUpperCase(), percent, percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
    ...[percent.replaceAll('%20', '+'), JSON.stringify(part).slice(1, -1), [...part].reverse().join('')],
  ]
  const base64 = [0, 1, 2].flatMap((before) => alphabets.map((alphabet) => base64At(bytes, before, alphabet)))
  return [...plain.map((core) => ({ core, whole: core })), ...base64.filter(({ core }) => core.length >= 8)]
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const alphabets = [`${letters}+/`, `${letters}-_`]

/**
 * The part inside base64, `before` bytes into a group of three. The core does not depend on the surrounding text. A
 * character next to it holds 2 or 4 bits of the part and the rest of its neighbor: it is removed if its bits of the
 * part match; otherwise it belongs to other text and stays.
 */
function base64At(bytes: Buffer, before: number, alphabet: string): Form {
  const sextets = [
    ...Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, ''),
  ].map((char) => alphabets[0]!.indexOf(char))
  const isWhole = (before + bytes.length) % 3 === 0
  const core = sextets
    .slice([0, 2, 3][before], isWhole ? undefined : -1)
    .map((sextet) => alphabet[sextet])
    .join('')
  // Both alphabets, because a core of letters and digits is the same in either.
  const fits = (matches: (sextet: number) => boolean) =>
    `[${alphabets.flatMap((each) => [...each].filter((_, sextet) => matches(sextet)).map(escaped)).join('')}]?`
  const first = before === 0 ? null : sextets[before]!
  const firstBits = before === 1 ? 15 : 3
  const last = sextets.at(-1)!
  const foreignBits = (before + bytes.length) % 3 === 1 ? 4 : 2
  const start = first === null ? '' : fits((sextet) => (sextet & firstBits) === (first & firstBits))
  const end = isWhole ? '' : fits((sextet) => sextet >> foreignBits === last >> foreignBits)
  return { core, whole: new RegExp(`${start}${[...core].map(escaped).join('')}${end}`, 'g') }
}

const escaped = (char: string) => (/[A-Za-z0-9]/.test(char) ? char : `\\${char}`)
