/** Quotes a word for a shell. For commands that are shown, never for ones that run. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Adds the flags to a suggested command that make it work in the current context. */
export function inProject(command: string, project: string | undefined): string {
  const needed =
    project !== undefined &&
    /^svc (cr|sessions|secrets|env|settings|triggers|apps|ship|status)( |$)/.test(command) &&
    !command.includes('--project')
  return needed ? `${command} --project ${quote(project)}` : command
}
