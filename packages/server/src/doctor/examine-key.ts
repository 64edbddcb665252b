/** The doctor's finding about the master key, which opens every secret of the database. */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { keyId } from '../keyring/cipher.ts'
import { keptKeyRemedy, readMasterKey } from '../keyring/master-key.ts'
import { isKeyInMemory, keyInMemoryRemedy } from '../keyring/open-keyring.ts'
import { acceptedMasterKeys } from './store.ts'

const name = 'master key'
const readByOthers = 0o007

/** Null before the first start, which makes it. Without a database (null), it cannot be compared with the data. */
export async function examineKey(config: Config, db: DbOrTransaction | null): Promise<Finding | null> {
  const file = config.masterKeyFile
  const accepted = db === null ? [] : await acceptedMasterKeys(db)
  const needed = accepted.join(' or ')
  const key = await readMasterKey(file).catch((error: Error) => error)
  if (key instanceof Error)
    return missing(
      name,
      key.message.replace(/\.$/, ''),
      db !== null && (await isKeyInMemory(db, config))
        ? keyInMemoryRemedy(file)
        : `Restore it from its copy, readable by the server's user alone (chmod 600 ${file}).`,
    )
  if (key === null) {
    if (db === null && config.databaseUrl !== null)
      return weak(
        name,
        `there is none at ${file}`,
        'A first start makes it. Data of an earlier start need theirs: restore it from its copy.',
      )
    const isNew = db === null ? !existsSync(join(config.dataDir, 'postgres')) : accepted.length === 0
    if (isNew) return null
    const which = needed === '' ? 'the key' : `key ${needed}`
    return missing(
      name,
      `there is none at ${file}, so the next start fails`,
      await remedyFor(config, db, { which, accepted }),
    )
  }
  const id = keyId(key)
  if (accepted.length > 0 && !accepted.includes(id)) {
    const says = `${file} (${id}) is not the key of this database (${needed}), so the next start fails`
    return missing(name, says, await remedyFor(config, db, { which: `key ${needed}`, accepted }))
  }
  if (((await stat(file)).mode & readByOthers) !== 0)
    return weak(
      name,
      `other users of this machine can read ${file}`,
      `Run: chmod 600 ${file}. If one may have, replace it: svc self-host rotate-key`,
    )
  if (accepted.length > 1)
    return weak(name, 'a change of the master key is not finished', 'Run svc self-host rotate-key again.')
  const opens = accepted.length === 0 ? 'was not compared with the database' : 'opens this database'
  return good(name, `${file} (${id}) ${opens}`)
}

async function remedyFor(
  config: Config,
  db: DbOrTransaction | null,
  { which, accepted }: { which: string; accepted: string[] },
): Promise<string> {
  const file = config.masterKeyFile
  const kept = await keptKeyRemedy(file, accepted)
  if (kept !== null) return kept
  if (db !== null && (await isKeyInMemory(db, config))) return keyInMemoryRemedy(file, which)
  return `Restore ${which} from its copy, or set SVC_MASTER_KEY_FILE to its file.`
}
