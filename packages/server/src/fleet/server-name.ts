/** The name of a server. Its data folder keeps it, because the projects of a server name their home by it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { serverNamePattern } from '../config/fleet.ts'
import { StartupError } from '../startup/startup-error.ts'

const fileName = 'server-name'

/** Of the folder, of the settings, or made from the folder's id. The caller holds the lock of the data folder. */
export function readServerName(
  { dataDir, serverName }: Pick<Config, 'dataDir' | 'serverName'>,
  folderId: string,
): string {
  const file = join(dataDir, fileName)
  const kept = keptServerName(dataDir)
  if (kept !== null && !serverNamePattern.test(kept))
    throw new StartupError(`The file ${file} holds no name of a server. Remove it, or restore it from a backup.`)
  if (kept !== null && serverName !== null && kept !== serverName)
    throw new StartupError(
      `The data folder ${dataDir} belongs to the server ${kept}, and SVC_SERVER_NAME is ${serverName}. Set SVC_SERVER_NAME=${kept}, or use another SVC_DATA_DIR.`,
    )
  return kept ?? serverName ?? `server-${folderId.slice(0, 8)}`
}

/** Null: no server with a name has used this data folder. */
export function keptServerName(dataDir: string): string | null {
  const file = join(dataDir, fileName)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
}

export function keepServerName({ dataDir }: Pick<Config, 'dataDir'>, name: string): void {
  writeFileSync(join(dataDir, fileName), `${name}\n`, { mode: 0o600 })
}
