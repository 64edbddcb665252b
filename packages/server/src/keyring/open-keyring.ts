/** The keyring of a server at its start, from the master key's file and the root key in the database. */
import { randomBytes, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Deps } from '../deps.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { keyId } from './cipher.ts'
import { type Keyring, makeKeyring, unwrapRootKey, wrapRootKey } from './keyring.ts'
import { createMasterKey, MasterKeyError, readMasterKey } from './master-key.ts'

type KeyDeps = Pick<Deps, 'db'> & { config: Pick<Deps['config'], 'masterKeyFile' | 'dataDir'> }

export interface OpenedRoot {
  masterKey: Buffer
  rootKey: Buffer
  /** The master keys that are accepted, the earliest first. */
  wraps: Pick<Row<'root_keys'>, 'root_key_id' | 'master_key_id' | 'wrapped'>[]
}

export async function openKeyring(deps: KeyDeps & Pick<Deps, 'log'>): Promise<Keyring> {
  const { masterKey, rootKey, wraps } = await openRootKey(deps)
  if (wraps.length > 1)
    deps.log.warn(
      { master_keys: wraps.map(({ master_key_id }) => master_key_id) },
      'a change of the master key was begun and is not finished: svc self-host rotate-key finishes it',
    )
  return makeKeyring(rootKey, masterKey)
}

/** The master key lies outside the data folder. It is made once, for data that has none; never anew for data that was sealed under another. */
export async function openRootKey(deps: KeyDeps): Promise<OpenedRoot> {
  const file = deps.config.masterKeyFile
  const masterKey = (await readMasterKey(file)) ?? (await firstMasterKey(deps))
  const id = keyId(masterKey)
  return deps.db.transaction().execute(async (trx) => {
    await trx
      .insertInto('installation')
      .values({ installation_id: randomUUID(), master_key_id: id })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    // Two servers that start at once make one root key.
    const found = await trx.selectFrom('installation').select('master_key_id').forUpdate().executeTakeFirstOrThrow()
    const wraps = await trx.selectFrom('root_keys').selectAll().orderBy('position').execute()
    const mine = wraps.find(({ master_key_id }) => master_key_id === id)
    if (mine !== undefined) return { masterKey, rootKey: openWrap(deps, masterKey, mine), wraps }
    // Data from before there was a root key gets one. It is random: what an earlier master key yields would go on opening it.
    if (wraps.length > 0 || found.master_key_id !== id) throw await wrongKey(trx, deps, { id, wanted: wraps })
    const rootKey = randomBytes(32)
    const wrap = { root_key_id: keyId(rootKey), master_key_id: id, wrapped: wrapRootKey(masterKey, rootKey) }
    await trx.insertInto('root_keys').values(wrap).execute()
    return { masterKey, rootKey, wraps: [wrap] }
  })
}

async function firstMasterKey(deps: KeyDeps): Promise<Buffer> {
  const { masterKeyFile, dataDir } = deps.config
  const found = await deps.db.selectFrom('installation').select('master_key_id').executeTakeFirst()
  if (found !== undefined)
    throw new MasterKeyError(
      `The master key ${masterKeyFile} is gone, and the secrets in ${dataDir} cannot be opened without it. Put key ${found.master_key_id} back, or name its file with SVC_MASTER_KEY_FILE.`,
    )
  try {
    return await createMasterKey(masterKeyFile)
  } catch (error) {
    // Another server of the same file was quicker; its key is the key.
    const made = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readMasterKey(masterKeyFile) : null
    if (made === null) throw error
    return made
  }
}

function openWrap(deps: KeyDeps, masterKey: Buffer, wrap: OpenedRoot['wraps'][number]): Buffer {
  try {
    return unwrapRootKey(masterKey, wrap.root_key_id, wrap.wrapped)
  } catch {
    // The tag does not fit although the key does.
    throw new MasterKeyError(
      `The root key in the database of ${deps.config.dataDir} is damaged: it does not open under the master key ${keyId(masterKey)} that wrapped it. Restore the database from its backup.`,
    )
  }
}

/** Says whether the key in the file was the right one once: then its successor lies where it was changed. */
async function wrongKey(
  db: DbOrTransaction,
  deps: KeyDeps,
  { id, wanted }: { id: string; wanted: OpenedRoot['wraps'] },
): Promise<MasterKeyError> {
  const { masterKeyFile, dataDir } = deps.config
  const needed = wanted.map(({ master_key_id }) => master_key_id).join(' or ')
  const changed = await db
    .selectFrom('audit_events')
    .select('at')
    .where('action', '=', rotateAction)
    .where(sql<string>`before->>'master_key_id'`, '=', id)
    .orderBy('event_id', 'desc')
    .executeTakeFirst()
  if (changed !== undefined)
    return new MasterKeyError(
      `The master key ${masterKeyFile} is an earlier one (${id}): it was replaced at ${changed.at} by svc self-host rotate-key, and opens nothing any more. Copy key ${needed} here from the machine where that was done, or from its backup.`,
    )
  return new MasterKeyError(
    `The master key ${masterKeyFile}${needed === '' ? '' : ` (${id})`} is not the one the data in ${dataDir} was sealed under${needed === '' ? '' : ` (${needed})`}. Put the right one there, or name its file with SVC_MASTER_KEY_FILE.`,
  )
}

export const rotateAction = 'master_key.rotate'
