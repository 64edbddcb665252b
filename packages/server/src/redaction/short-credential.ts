import { guardedCharsMin } from '../secrets/forms.ts'

/** An answer of the other side that holds the credential is replaced, which confirms a guess of the whole value. */
export function shortCredential(what: string, value: string): string[] {
  return value.trim().length >= guardedCharsMin
    ? []
    : [`${what} has fewer than ${guardedCharsMin} characters: an agent could guess it. Use a longer one.`]
}
