import { guardedCharsMin } from '../secrets/forms.ts'

/** Another server's response is replaced if it contains the credential, which confirms a guess of the whole value. */
export function shortCredential(what: string, value: string): string[] {
  return value.trim().length >= guardedCharsMin
    ? []
    : [`${what} is shorter than ${guardedCharsMin} characters, so an agent could guess it. Use a longer one.`]
}
