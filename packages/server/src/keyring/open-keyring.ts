/** Opens the keyring at the start of a server, from the master key file and the root key in the database. */
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import type { Deps } from '../deps.ts'
import { isConnected, isRunning, staleSeconds } from '../db/live-instance.ts'
import { findRow, insertIfNew, insertRow, listRows } from '../db/rows.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { keyId } from './cipher.ts'
import { type Keyring, makeKeyring, unwrapRootKey, wrapRootKey } from './keyring.ts'
import { createMasterKey, keptKeyRemedy, MasterKeyError, readMasterKey, writeMasterKey } from './master-key.ts'

type KeyDeps = Pick<Deps, 'db'> & { config: Pick<Deps['config'], 'masterKeyFile' | 'dataDir' | 'databaseUrl'> }

export interface OpenedRoot {
  masterKey: Buffer
  rootKey: Buffer
  /** The accepted master keys, earliest first. */
  wraps: Pick<Row<'root_keys'>, 'root_key_id' | 'master_key_id' | 'wrapped'>[]
}

export interface ServerKeyring extends Keyring {
  /** Writes the key that opened the data to its file again, where that is gone. False: the file is there, or needs another key. */
  rewriteMasterKey(): Promise<boolean>
}

export async function openKeyring(deps: KeyDeps & Pick<Deps, 'log'>): Promise<ServerKeyring> {
  const { masterKey, rootKey, wraps } = await openRootKey(deps)
  if (wraps.length > 1)
    deps.log.warn(
      { master_keys: wraps.map(({ master_key_id }) => master_key_id) },
      'master key change is incomplete: run svc self-host rotate-key to complete it',
    )
  return { ...makeKeyring(rootKey, masterKey), rewriteMasterKey: () => rewriteMasterKey(deps, masterKey) }
}

async function rewriteMasterKey({ db, config, log }: KeyDeps & Pick<Deps, 'log'>, masterKey: Buffer): Promise<boolean> {
  const file = config.masterKeyFile
  // Another server may have changed the key since.
  const accepted = await findRow(db, 'root_keys', { master_key_id: keyId(masterKey) })
  if (accepted === null || (await readMasterKey(file)) !== null) return false
  await writeMasterKey(file, masterKey, null)
  log.warn({ file }, 'the file of the master key was gone; it was written again')
  return true
}

/** The master key is outside the data folder. It is created once, for data without a key, and never for data sealed under another key. */
export async function openRootKey(deps: KeyDeps): Promise<OpenedRoot> {
  const file = deps.config.masterKeyFile
  const masterKey = (await readMasterKey(file)) ?? (await firstMasterKey(deps))
  const id = keyId(masterKey)
  return deps.db.transaction().execute(async (trx) => {
    await insertIfNew(trx, 'installation', { installation_id: randomUUID(), master_key_id: id })
    // The lock makes two servers that start together create one root key.
    const found = await trx.selectFrom('installation').select('master_key_id').forUpdate().executeTakeFirstOrThrow()
    const wraps = await listRows(trx, 'root_keys', {}, 'position')
    const mine = wraps.find(({ master_key_id }) => master_key_id === id)
    if (mine !== undefined) return { masterKey, rootKey: openWrap(deps, masterKey, mine), wraps }
    // Data without a root key gets a random one: a derived key would stay open to an earlier master key.
    if (wraps.length > 0 || found.master_key_id !== id) throw await wrongKey(trx, deps, { id, wanted: wraps })
    const rootKey = randomBytes(32)
    const wrap = { root_key_id: keyId(rootKey), master_key_id: id, wrapped: wrapRootKey(masterKey, rootKey) }
    await insertRow(trx, 'root_keys', wrap)
    return { masterKey, rootKey, wraps: [wrap] }
  })
}

async function firstMasterKey(deps: KeyDeps): Promise<Buffer> {
  const { masterKeyFile } = deps.config
  const missing = await missingMasterKey(deps)
  if (missing !== null) throw missing
  try {
    return await createMasterKey(masterKeyFile)
  } catch (error) {
    // Another server created the file first, so use its key.
    const made = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readMasterKey(masterKeyFile) : null
    if (made === null) throw error
    return made
  }
}

/** Names the key that data need. Null: there are no data yet. */
export async function missingMasterKey(deps: KeyDeps): Promise<MasterKeyError | null> {
  const found = await findRow(deps.db, 'installation', {})
  if (found === null) return null
  return new MasterKeyError(
    `There is no master key at ${deps.config.masterKeyFile}, and ${sealedData(deps)} cannot be opened without key ${found.master_key_id}. ${await remedy(deps.db, deps, [found.master_key_id])}`,
  )
}

function openWrap(deps: KeyDeps, masterKey: Buffer, wrap: OpenedRoot['wraps'][number]): Buffer {
  try {
    return unwrapRootKey(masterKey, wrap.root_key_id, wrap.wrapped)
  } catch {
    // The key matches but the tag does not.
    throw new MasterKeyError(
      `The root key in the database of ${deps.config.dataDir} is damaged: the master key ${keyId(masterKey)} that wrapped it does not open it. Restore the database from a backup.`,
    )
  }
}

/** Explains whether the file holds an earlier key: its successor is then on the machine that changed it. */
async function wrongKey(
  db: DbOrTransaction,
  deps: KeyDeps,
  { id, wanted }: { id: string; wanted: OpenedRoot['wraps'] },
): Promise<MasterKeyError> {
  const { masterKeyFile } = deps.config
  const ids = wanted.map(({ master_key_id }) => master_key_id)
  const needed = ids.join(' or ')
  const changed = await db
    .selectFrom('audit_events')
    .select('at')
    .where('action', '=', rotateAction)
    .where(sql<string>`before->>'master_key_id'`, '=', id)
    .orderBy('event_id', 'desc')
    .executeTakeFirst()
  if (changed !== undefined)
    return new MasterKeyError(
      `The master key ${masterKeyFile} is an earlier one (${id}): svc self-host rotate-key replaced it at ${changed.at}, so it no longer opens anything. It needs key ${needed}. ${await remedy(db, deps, ids)}`,
    )
  return new MasterKeyError(
    `The master key ${masterKeyFile}${needed === '' ? '' : ` (${id})`} is not the key that sealed ${sealedData(deps)}${needed === '' ? '' : ` (${needed})`}. ${await remedy(db, deps, ids)}`,
  )
}

function sealedData({ config: { databaseUrl, dataDir } }: KeyDeps): string {
  return databaseUrl === null ? `the data in ${dataDir}` : 'the data of this database'
}

const serversMax = 5

/** Names the file that has one of these keys, or the other machines that do. */
async function remedy(db: DbOrTransaction, { config }: KeyDeps, ids: string[]): Promise<string> {
  const kept = await keptKeyRemedy(config.masterKeyFile, ids)
  if (kept !== null) return kept
  if (await isKeyInMemory(db, config)) return keyInMemoryRemedy(config.masterKeyFile)
  if (config.databaseUrl === null)
    return 'Restore the right key from the copy that you keep, or set SVC_MASTER_KEY_FILE to its file. No backup contains it.'
  const rotated = await lastRotation(db)
  const names = await runningBeside(db, { ownName: keptServerName(config.dataDir), rotated })
  const running = names.length === 0 ? '' : ` (running: ${names.join(', ')})`
  const which =
    rotated === null
      ? `the machine of another server that uses this database${running}`
      : `the machine where svc self-host rotate-key ran, or that of a server that started since then${running}`
  return `If this machine has the key elsewhere, set SVC_MASTER_KEY_FILE to its file. Otherwise copy the file that this setting names on ${which} to ${config.masterKeyFile} here, or restore it from a backup. Without the setting, it is .config/svc/master.key in the home folder of the server's user.`
}

/** Whether the server of the data folder runs with the key of now: it started after the last change. */
export async function isKeyInMemory(
  db: DbOrTransaction,
  { dataDir }: Pick<KeyDeps['config'], 'dataDir'>,
): Promise<boolean> {
  const name = keptServerName(dataDir)
  if (name === null) return false
  const running = db.selectFrom('server_instances').select('instance_id').where(isRunning(staleSeconds))
  const started = running
    .where('server_name', '=', name)
    .where('started_at', '>', (await lastRotation(db)) ?? '-infinity')
  return (await started.executeTakeFirst()) !== undefined
}

/** For a key whose file is gone or wrong while its server runs: its next start would lose the data. */
export function keyInMemoryRemedy(file: string, which = 'the right key'): string {
  const write = existsSync(file)
    ? `move ${file} away and let the server write the key again`
    : 'let the server write it again'
  return `Do not stop, restart or upgrade the server: it has the key in memory. Restore ${which} from its copy, or without a copy, ${write}: svc self-host rotate-key. That also replaces the key: copy the new file away.`
}

/** A file that cannot be read as a key, with what to do about it. */
export async function unreadableKey(deps: KeyDeps, { message }: Error): Promise<MasterKeyError> {
  const accepted = await listRows(deps.db, 'root_keys', {}, 'position')
  const ids = accepted.map(({ master_key_id }) => master_key_id)
  return new MasterKeyError(`${message} ${await remedy(deps.db, deps, ids)}`)
}

async function lastRotation(db: DbOrTransaction): Promise<string | null> {
  const rotations = db.selectFrom('audit_events').select('at').where('action', '=', rotateAction)
  return (await rotations.orderBy('event_id', 'desc').executeTakeFirst())?.at ?? null
}

/**
 * The names of other servers that run: one that is gone has no machine to copy from, and one that runs since before the
 * key changed may have the earlier file.
 */
async function runningBeside(
  db: DbOrTransaction,
  { ownName, rotated }: { ownName: string | null; rotated: string | null },
): Promise<string[]> {
  const rows = await db
    .selectFrom('server_instances')
    .select('server_name')
    .distinct()
    .where(isConnected(staleSeconds))
    .where('server_name', 'is not', null)
    .where('server_name', 'is distinct from', ownName)
    .where('started_at', '>', rotated ?? '-infinity')
    .orderBy('server_name')
    .limit(serversMax)
    .execute()
  return rows.map(({ server_name }) => server_name!)
}

export const rotateAction = 'master_key.rotate'
