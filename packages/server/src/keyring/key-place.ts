/** Where the server of a data folder has its master key, for a command of another user, such as root, without its settings. */
import { existsSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { homedir } from 'node:os'
import { asUser, homeOf } from '@svc/contract/folder-owner'
import { type Config, defaultMasterKeyFile } from '../config.ts'
import { knownUsers, programWords } from '../startup/foreign-file.ts'

interface KeyPlace {
  file: string
  /** Why another file may be the key of the server, and what to do. Null: its settings are known. */
  whyUnsure: string | null
}

/** The client takes the file of a running server over, so this is for one that is stopped. */
export function keyPlace({ masterKeyFile, dataDir }: Pick<Config, 'masterKeyFile' | 'dataDir'>): KeyPlace {
  const own = process.getuid?.()
  const known = { file: masterKeyFile, whyUnsure: null }
  if (own === undefined || masterKeyFile !== defaultMasterKeyFile() || !existsSync(dataDir)) return known
  const { uid } = statSync(dataDir)
  if (uid === own) return known
  const owner = { uid, passwd: knownUsers(), program: programWords() }
  const home = homeOf(owner)
  const file = home === null ? masterKeyFile : join(home, relative(homedir(), masterKeyFile))
  return {
    file,
    whyUnsure: `${file} is not the master key of the server, whose data folder ${dataDir} belongs to another user. This command does not know where that user has it. Run it as that user (${asUser(owner)}), or set SVC_MASTER_KEY_FILE to the key`,
  }
}
