/**
 * Stands before a command that is shown, since the URL has a password. A shell that lacks the variable refuses the
 * command instead of running it on another database.
 */
export const databaseUrlOfShell = 'DATABASE_URL="${DATABASE_URL:?}"'
