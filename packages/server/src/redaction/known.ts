/** Builds patterns from values in every encoding, and from the formats of this service's own tokens. */
import {
  cloneCredentialPrefix,
  modelKeyPrefix,
  readCredentialPrefix,
  sandboxKeyPrefix,
  tokenPrefix,
} from '@svc/contract/schemas/token-format'
import { base64At, type Encoding, encodings } from '../secrets/forms.ts'
import { acrossLines, exactly, type Matcher, type Pattern, type TokenShape, tokensOf } from './matcher.ts'

/** Shorter values are ordinary words, numbers and names; redacting them would make text unreadable. */
export const redactedCharsMin = 8
/** Longer values are matched in encodings only by their start, so that one project cannot exhaust the server's memory. */
const encodedCharsMax = 4096
const encodedCharsOfAllMax = 64 * 1024
const encodedBeginning = 256
/** A node of the automaton takes 22 bytes. */
const patternCharsMax = 4_000_000

/**
 * In a growing text, long patterns are matched in pieces, so that holding back a constant number of characters
 * (`heldBackChars`) covers each. Pieces overlap, which joins neighboring finds.
 */
const pieceChars = 128
const pieceOverlap = 16

const brokenIntoLines = new Set<Encoding>(['base64', 'hex'])

export interface MatcherOptions {
  /** For growing text: no pattern is longer than a piece. */
  inPieces?: boolean
  /** The minimum length of a line in a multi-line value to be a pattern of its own. */
  lineCharsMin?: number
}

export function matchersOf(
  values: Iterable<readonly [name: string, value: string]>,
  { inPieces = false, lineCharsMin = redactedCharsMin }: MatcherOptions = {},
): Matcher[] {
  const plain: Pattern[] = []
  const wrapped: Pattern[] = []
  let room = patternCharsMax
  const known = [...values].flatMap(([name, value]) => partsOf(value, lineCharsMin).map((text) => ({ name, text })))
  const isMuch = known.reduce((sum, { text }) => sum + text.length, 0) > encodedCharsOfAllMax
  const seen = new Set<string>()
  const add = (to: Pattern[], name: string, pattern: string) => {
    for (const text of inPieces ? piecesOf(pattern) : [pattern]) addOne(to, name, text)
  }
  const addOne = (to: Pattern[], name: string, text: string) => {
    if (text.length < redactedCharsMin || seen.has(text) || text.length > room) return
    seen.add(text)
    room -= text.length
    to.push({ name, text })
  }
  for (const { name, text } of known) add(plain, name, text)
  for (const { name, text } of known)
    for (const [as, encoded] of encodings(text))
      add(
        brokenIntoLines.has(as) ? wrapped : plain,
        name,
        encoded.slice(0, isMuch || text.length > encodedCharsMax ? encodedBeginning : undefined),
      )
  return [...(plain.length > 0 ? [exactly(plain)] : []), ...(wrapped.length > 0 ? [acrossLines(wrapped)] : [])]
}

function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let at = 0; at + pieceChars < text.length; at += pieceChars - pieceOverlap)
    pieces.push(text.slice(at, at + pieceChars))
  return [...pieces, text.slice(-pieceChars)]
}

/** A multi-line value may appear partially, indented or with other line endings. */
function partsOf(value: string, lineCharsMin: number): string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).map((line) => line.trim()) : []
  const ownLines = lines.filter((line) => line.length >= lineCharsMin && !/^-----[A-Z ]+-----$/.test(line))
  return [value, value.trim(), ...ownLines].filter((text) => text.length >= redactedCharsMin)
}

const prefixes: [prefix: string, chars: number][] = [
  [tokenPrefix, 42],
  [sandboxKeyPrefix, 64],
  [cloneCredentialPrefix, 40],
  [readCredentialPrefix, 40],
  [modelKeyPrefix, 40],
]
/** A truncated token still counts; a placeholder like `svc_pat_…` does not. */
const tokenCharsMin = 20

function shapesOf([prefix, chars]: [string, number]): TokenShape[] {
  const bytes = Buffer.from(prefix)
  const name = `${prefix} token`
  const hex = bytes.toString('hex')
  const inBase64 = (count: number) => Math.floor((count * 4) / 3)
  return [
    { name, text: prefix, follows: /[0-9A-Za-z]/, min: tokenCharsMin, max: chars },
    { name, text: hex, follows: /[0-9a-f]/, min: 2 * tokenCharsMin, max: 2 * chars },
    { name, text: hex.toUpperCase(), follows: /[0-9A-F]/, min: 2 * tokenCharsMin, max: 2 * chars },
    ...[0, 1, 2].map((before) => ({
      name,
      text: base64At(bytes, before),
      follows: /[0-9A-Za-z+/_=-]/,
      min: inBase64(tokenCharsMin),
      max: inBase64(chars) + 4,
    })),
  ]
}

export const tokenMatcher: Matcher = tokensOf(prefixes.flatMap(shapesOf))
