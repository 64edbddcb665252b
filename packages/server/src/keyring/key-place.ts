/** Where the server of a data folder has its master key, for a command of another user, such as root, without its settings. */
import { existsSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { homedir } from 'node:os'
import { folderLockName } from '@svc/contract/daemon/owner-socket'
import { asUser, homeOf, ownerName } from '@svc/contract/folder-owner'
import type { Config } from '../config.ts'
import { knownUsers, programWords } from '../startup/foreign-file.ts'

interface KeyPlace {
  file: string
  /** Why another file may be the key of the server, and what to do. Null: its settings are known. */
  whyUnsure: string | null
}

/** The client names the file of a running server, so the home folder of another user is for one that is stopped. */
export function keyPlace({
  masterKeyFile,
  isMasterKeyKnown,
  dataDir,
}: Pick<Config, 'masterKeyFile' | 'isMasterKeyKnown' | 'dataDir'>): KeyPlace {
  const known = { file: masterKeyFile, whyUnsure: null }
  const uid = isMasterKeyKnown ? null : serverUser(dataDir)
  if (uid === null || uid === (process.getuid?.() ?? uid)) return known
  const owner = { uid, passwd: knownUsers(), program: programWords() }
  const home = homeOf(owner)
  const file = home === null ? masterKeyFile : join(home, relative(homedir(), masterKeyFile))
  return {
    file,
    whyUnsure: `${file} is not the master key of the server, which ran in the data folder ${dataDir} as ${ownerName(owner)}. This command does not know where that user has it. Run it as that user (${asUser(owner)}), or set SVC_MASTER_KEY_FILE to the key`,
  }
}

/** Null: unknown. A server of any user accepts a folder of root, and makes its lock there, which no other user can open. */
function serverUser(dataDir: string): number | null {
  const lock = join(dataDir, folderLockName)
  if (existsSync(lock)) return statSync(lock).uid
  const uid = existsSync(dataDir) ? statSync(dataDir).uid : 0
  return uid === 0 ? null : uid
}
