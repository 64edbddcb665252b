/** Complete texts of a server that was sent a credential: a text that holds it, in any encoding, is not shown at all. */
import { matchersOf } from './known.ts'
import type { Matcher } from './matcher.ts'

/** A line of a private key this long is one nobody guesses. */
const lineCharsMin = 32

/** Whole values alone: a text that holds a part of one passes, so an answer never says how much of a guess is right. */
export function withholding(credentials: readonly string[], sentence: string): (text: string) => string {
  let matchers: Matcher[] | null = null
  return (text) => {
    matchers ??= matchersOf(
      credentials.map((credential) => ['credential', credential] as const),
      { lineCharsMin },
    )
    return matchers.some((matcher) => isIn(matcher, text)) ? sentence : text
  }
}

function isIn(matcher: Matcher, text: string): boolean {
  let isFound = false
  const watch = matcher.watch(() => (isFound = true))
  for (let at = 0; at < text.length && !isFound; at++) watch.step(text.charCodeAt(at), at)
  return isFound
}
