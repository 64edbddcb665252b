/** Words of commands that are shown, never of ones that run. */

/**
 * Stands before a command that is shown, since the URL has a password. A shell that lacks the variable refuses the
 * command instead of running it on another database.
 */
export const databaseUrlOfShell = 'DATABASE_URL="${DATABASE_URL:?}"'

/** Passes the start of each command in a text through `next`. One after a colon is for the server that wrote it. */
export function withCommands(text: string, next: (command: string) => string): string {
  return text.replaceAll(/(?<=: )svc self-host [\w-]+/g, next)
}

/** Quotes a word for a shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
