/** Withholds a complete text of a server that received a credential if the text contains it in any encoding. */
import { matchersOf } from './known.ts'
import type { Matcher } from './matcher.ts'

/** A line of a private key this long cannot be guessed. */
const lineCharsMin = 32

/** Matches only whole values: a text with a part of one passes, so a response never reveals how much of a guess is right. */
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
