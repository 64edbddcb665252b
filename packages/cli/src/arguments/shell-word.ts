import { databaseUrlOfShell, quote } from '@svc/contract/shell-words'

export { quote } from '@svc/contract/shell-words'

/** Adds the flags to a suggested command that make it work in the current context. */
export function inProject(command: string, project: string | undefined): string {
  const needed =
    project !== undefined &&
    /^svc (cr|sessions|secrets|env|settings|triggers|apps|ship|status)( |$)/.test(command) &&
    !command.includes('--project')
  return needed ? `${command} --project ${quote(project)}` : command
}

/** These commands find their server by the settings of this shell. */
const ofThisServer =
  /^svc self-host (start|stop|status|logs|owner-link|backup|restore|check|resume|doctor|rotate-key|move-database|upgrade)( |$)/

/** These read or change the saved settings alone. */
const ofSettingsFile = /^svc self-host (env|configure|unit)( |$)/

/** Settings that lead to a server, and so have to be where its next command is pasted. */
const leading = ['SVC_CONFIG_FILE', 'SVC_DATA_DIR', 'SVC_MASTER_KEY_FILE', 'DATABASE_URL'] as const

/** An empty one in the shell keeps that of the saved settings from a copy beside its original. */
export const addresses = ['SVC_PUBLIC_URL', 'SVC_PEER_URL', 'SVC_PEER_LISTEN', 'SVC_REPLICA'] as const

export type Env = Readonly<Record<string, string | undefined>>

/** Puts the settings of this shell before a suggested command that would otherwise act on another server. */
export function withSettings(command: string, env: Env): string {
  if (ofSettingsFile.test(command))
    return env.SVC_CONFIG_FILE ? `SVC_CONFIG_FILE=${quote(env.SVC_CONFIG_FILE)} ${command}` : command
  if (!ofThisServer.test(command)) return command
  // A resume prints the next start.
  const starts = /^svc self-host (start|resume)( |$)/.test(command) && Boolean(env.SVC_DATA_DIR)
  const words = [...leading, ...(starts ? ['SVC_PORT'] : [])].flatMap((name) => {
    if (!env[name]) return []
    // It has a password.
    return [name === 'DATABASE_URL' ? databaseUrlOfShell : `${name}=${quote(env[name])}`]
  })
  const cleared = starts ? addresses.filter((name) => env[name] === '').map((name) => `${name}=`) : []
  return [...words, ...cleared, command].join(' ')
}
