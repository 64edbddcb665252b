/** A word as a person would type it in a shell; only for commands that are shown, never for ones that are run. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A command as it works where it is shown: what was chosen by a flag has to be chosen again. */
export function inProject(command: string, project: string | undefined): string {
  const needed =
    project !== undefined &&
    /^svc (cr|sessions|secrets|env|settings|triggers|apps|ship|status)( |$)/.test(command) &&
    !command.includes('--project')
  return needed ? `${command} --project ${quote(project)}` : command
}
