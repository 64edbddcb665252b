import { askServerIn } from './ask-owner-link.ts'
import { silentMs } from './ask-running.ts'
import { dataDirOf } from './environment.ts'

/** The key file of the running server's backups. Null: without one, or where these settings decide, also with an empty one. */
export async function backupKeyOfServer(env: Record<string, string>): Promise<string | null> {
  if (env.SVC_BACKUP_KEY_FILE !== undefined) return null
  return (await askServerIn(dataDirOf(env), silentMs))?.backup_key_file ?? null
}

/**
 * With the master key file of the running server, for a command of another user, such as root, whose home folder and
 * settings are not the server's.
 */
export async function withKeyFileOfServer(env: Record<string, string>): Promise<Record<string, string>> {
  if (env.SVC_MASTER_KEY_FILE) return env
  const file = (await askServerIn(dataDirOf(env), silentMs))?.master_key_file
  return file === undefined ? env : { ...env, SVC_MASTER_KEY_FILE: file }
}
