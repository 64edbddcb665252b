/** Takes a credential out of what a connector answers, in the forms in which programs repeat one. */

export interface Redactor {
  text(text: string): string
  /** Every text within, keys included. */
  value<T>(value: T): T
}

const mark = '[credential removed]'

export function makeRedactor(parts: string[]): Redactor {
  // The longest first: a form that holds another is replaced as a whole.
  const forms = [...new Set(parts.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  const text = (given: string) => forms.reduce((clean, form) => clean.replaceAll(form, mark), given)
  return { text, value: (given) => (forms.length === 0 ? given : inTexts(given, text)) }
}

/** The same value with every text within changed, keys included. */
export function inTexts<T>(given: T, change: (text: string) => string): T {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), walk(inner)]))
  }
  return walk(given) as T
}

function formsOf(part: string): string[] {
  const bytes = Buffer.from(part)
  const hex = bytes.toString('hex')
  const percent = encodeURIComponent(part)
  const base64 = [0, 1, 2].map((before) => base64At(bytes, before)).filter((form) => form.length >= 8)
  return [
    ...[part, hex, hex.toUpperCase(), percent, percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
    ...[percent.replaceAll('%20', '+'), JSON.stringify(part).slice(1, -1), [...part].reverse().join('')],
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/** The part of a base64 text that is the same whatever stands before and after, `before` bytes into a group of three. */
function base64At(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const isWhole = (before + bytes.length) % 3 === 0
  return text.slice([0, 2, 3][before], isWhole ? undefined : -1)
}
