/** Words of commands that are shown, never of ones that run. */

/**
 * Stands before a command that is shown, since the URL has a password. A shell that lacks the variable refuses the
 * command instead of running it on another database.
 */
export const databaseUrlOfShell = 'DATABASE_URL="${DATABASE_URL:?}"'

/** Quotes a word for a shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
