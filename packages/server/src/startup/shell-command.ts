/** Commands of `svc self-host` that a server prints, with the settings that lead back to it. */
import { withCommands } from '@svc/contract/shell-words'
import { type Config, defaultDataDir, defaultMasterKeyFile } from '../config.ts'

type Folder = Pick<Config, 'dataDir' | 'masterKeyFile'>

/** Each with a space after it. Without them, the command would mean the server of the usual folder. */
export function shellSettings({ dataDir, masterKeyFile }: Folder): string {
  return [
    ...(dataDir === defaultDataDir() ? [] : [`SVC_DATA_DIR=${quoted(dataDir)} `]),
    ...(masterKeyFile === defaultMasterKeyFile() ? [] : [`SVC_MASTER_KEY_FILE=${quoted(masterKeyFile)} `]),
  ].join('')
}

/**
 * For a text that no client shows, which would add the settings of its shell. It leaves DATABASE_URL out: saved settings
 * may have it, and without it the data folder refuses another database.
 */
export function withShellSettings(config: Folder, text: string): string {
  return withCommands(text, (command) => `${shellSettings(config)}${command}`)
}

export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
