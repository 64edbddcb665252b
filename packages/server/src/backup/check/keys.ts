/** Whether the master key file opens the keys of the database. */
import type { Disagreement } from '@svc/contract/daemon/operator-reports'
import type { Config } from '../../config.ts'
import type { Db } from '../../db/schema.ts'
import { keyId } from '../../keyring/cipher.ts'
import { keyPlace } from '../../keyring/key-place.ts'
import { unwrapRootKey } from '../../keyring/keyring.ts'
import { MasterKeyError, readMasterKey } from '../../keyring/master-key.ts'
import { checkDataKeys } from '../../keyring/move-data-keys.ts'
import { rootKeys } from './store.ts'

export async function checkKeys(config: Config, db: Db): Promise<Disagreement[]> {
  const problem = (says: string): Disagreement[] => [{ kind: 'keys', project_id: null, says }]
  const { file, whyUnsure } = keyPlace(config)
  const key = await readMasterKey(file)
  const wrap = key && (await rootKeys(db)).find(({ master_key_id }) => master_key_id === keyId(key))
  if (!wrap && whyUnsure !== null) return problem(`The keys were not checked: ${whyUnsure}.`)
  if (key === null) return problem(`There is no master key at ${file}.`)
  if (!wrap) return problem(`The master key ${file} is not the one that sealed the data.`)
  try {
    await checkDataKeys({ db }, unwrapRootKey(key, wrap.root_key_id, wrap.wrapped))
    return []
  } catch (error) {
    if (error instanceof MasterKeyError) return problem(error.message)
    return problem(`The root key in the database is damaged: ${(error as Error).message}`)
  }
}
