/** Random texts with whole and partial secrets, cut at random positions, and a slow reference implementation. */
import { makeToken } from '@svc/contract/schemas/token-format'
import { encodings } from '../secrets/forms.ts'
import { matchersOf, redactedCharsMin, tokenMatcher } from './known.ts'
import { markOf, StreamRedactor } from './stream.ts'
import type { Random } from '../testing-random.ts'
import { canaries } from './testing-canaries.ts'

export { seeded } from '../testing-random.ts'

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!

const secrets: Record<string, string> = {
  ...canaries,
  LONG: canaries.LONG.slice(0, 120),
  // Values that overlap each other and themselves.
  ABA: 'abaabaab',
  INNER: canaries.SLASHES.slice(4, 20),
  TAIL: canaries.HEX.slice(-12),
}

export interface Disagreement {
  text: string
  cuts: number[]
  said: string
  meant: string
}

/** Compares one text, cut into pieces `times` times, with the reference. Null when they agree. */
export function trySplits(random: Random, times: number): Disagreement | null {
  const names = Object.keys(secrets).filter(() => random() < 0.4)
  const values = names.map((name) => [name, secrets[name]!] as const)
  const matchers = [...matchersOf(values), tokenMatcher]
  // The longest pattern with a line break after each character.
  const heldBack = 2 * Math.max(160, ...values.flatMap(([, value]) => encodings(value).map(([, form]) => form.length)))
  let text = makeText(random, values)
  // Long enough that most of it is released before its end.
  while (text.length < 2 * heldBack) text += makeText(random, values)
  const meant = slowly(values, text)
  for (let time = 0; time < times; time++) {
    const cuts = Array.from({ length: Math.floor(random() * 12) }, () => Math.floor(random() * (text.length + 1)))
    cuts.sort((one, other) => one - other)
    const stream = new StreamRedactor(matchers, heldBack)
    let said = ''
    let from = 0
    for (const cut of [...cuts, text.length]) {
      said += stream.push(text.slice(from, cut))
      from = cut
    }
    said += stream.end()
    if (said !== meant) return { text, cuts, said, meant }
  }
  return null
}

function makeText(random: Random, values: (readonly [string, string])[]): string {
  let text = ''
  for (let parts = 1 + Math.floor(random() * 8); parts > 0; parts--) {
    const kind = random()
    if (kind < 0.2 || values.length === 0)
      text += pick(random, [' ', '\n', 'abaaba', 'x', '"', '🔑', 'svc_pat_', 'svc'])
    else if (kind < 0.3) text += makeToken((count) => Uint8Array.from({ length: count }, () => random() * 256))
    else {
      const [, value] = pick(random, values)
      const [as, encoded] = pick(random, encodings(value))
      const broken = (as === 'base64' || as === 'hex') && random() < 0.5 ? encoded.replace(/.{9}/g, '$&\n') : encoded
      // Often whole, sometimes truncated at either end.
      const cut = Math.floor(random() * 6)
      text += random() < 0.6 ? broken : broken.slice(random() < 0.5 ? cut : 0, random() < 0.5 ? undefined : -cut - 1)
    }
  }
  return text
}

interface Find {
  from: number
  to: number
  name: string
  rank: number
}

/** Finds every form of every value, one after the other. */
function slowly(values: (readonly [string, string])[], text: string): string {
  const finds: Find[] = []
  const unbroken = text.replace(/[\r\n]/g, '')
  const places: number[] = []
  for (let at = 0; at < text.length; at++) if (!/[\r\n]/.test(text[at]!)) places.push(at)
  const lines = (value: string) =>
    value.includes('\n') ? value.split(/\r?\n/).map((line) => line.trim()) : [value.trim()]
  for (const [name, value] of values)
    for (const part of new Set([
      value,
      value.trim(),
      ...lines(value).filter((line) => !/^-----[A-Z ]+-----$/.test(line)),
    ])) {
      if (part.length < redactedCharsMin) continue
      for (const [as, encoded] of encodings(part)) {
        if (encoded.length < redactedCharsMin) continue
        const wraps = as === 'base64' || as === 'hex'
        const within = wraps ? unbroken : text
        for (let at = within.indexOf(encoded); at !== -1; at = within.indexOf(encoded, at + 1)) {
          const to = at + encoded.length
          finds.push(
            wraps ? { from: places[at]!, to: places[to - 1]! + 1, name, rank: 1 } : { from: at, to, name, rank: 0 },
          )
        }
      }
    }
  for (let at = text.indexOf('svc_pat_'); at !== -1; at = text.indexOf('svc_pat_', at + 1)) {
    const [token = null] = /^svc_pat_[0-9A-Za-z]{20,42}/.exec(text.slice(at)) ?? []
    if (token !== null) finds.push({ from: at, to: at + token.length, name: 'svc_pat_ token', rank: 2 })
  }
  finds.sort((a, b) => a.from - b.from || b.to - a.to || a.rank - b.rank)
  let out = ''
  let at = 0
  for (const find of finds) {
    if (find.from >= at || at === 0) out += text.slice(at, find.from) + markOf(find.name)
    at = Math.max(at, find.to)
  }
  return out + text.slice(at)
}
