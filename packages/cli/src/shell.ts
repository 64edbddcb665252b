/** A word as a person would type it in a shell; only for commands that are shown, never for ones that are run. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
