/**
 * Replaces the master key while servers run. Servers keep the root key in memory, which does not change: only its
 * wrapping changes, and each server reads the file at its next start. After a crash at any line, the file still opens
 * the data, and the next run completes the change.
 */
import { rm } from 'node:fs/promises'
import type { RotationReport } from '@svc/contract/daemon/operator-reports'
import type { Transaction } from 'kysely'
import { firstOwner } from '../accounts/store.ts'
import { auditEvent, recordOperatorAudit } from '../audit/record.ts'
import { isConnected, staleSeconds } from '../db/live-instance.ts'
import { withLock } from '../db/lock.ts'
import { findRow, insertIfNew, updateRows } from '../db/rows.ts'
import type { Schema } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { keyId } from './cipher.ts'
import { unwrapRootKey, wrapRootKey } from './keyring.ts'
import {
  createMasterKey,
  checkMasterKey,
  hasKeptName,
  keepMasterKey,
  keptMasterKeys,
  MasterKeyError,
  readMasterKey,
  removeUnfinishedKeys,
  replaceMasterKey,
} from './master-key.ts'
import { checkDataKeys, moveDataKeys } from './move-data-keys.ts'
import { missingMasterKey, type OpenedRoot, openRootKey, rotateAction, unreadableKey } from './open-keyring.ts'

type RotateDeps = Pick<Deps, 'db' | 'locks' | 'localLocks'> & {
  config: Pick<Deps['config'], 'masterKeyFile' | 'dataDir' | 'databaseUrl'>
}

export async function rotateMasterKey(deps: RotateDeps): Promise<Omit<RotationReport, 'other_data_dirs'>> {
  return withLock(deps, 'svc master key', async () => {
    const servers = await countServers(deps)
    const found = await readMasterKey(deps.config.masterKeyFile).catch(async (error: Error) => {
      throw await unreadableKey(deps, error)
    })
    if (found === null)
      throw (
        (await missingMasterKey(deps)) ??
        new MasterKeyError(
          `There is no master key at ${deps.config.masterKeyFile}, and no server has run on this database, so there is none to change.`,
        )
      )
    await refuseKeptName(deps.config)
    const root = await openRootKey(deps)
    // Move data keys under the root key first: the new master key could not open them.
    let moved = await moveDataKeys(deps, root)
    const began = await newMasterKey(deps, root)
    const projects = await checkDataKeys(deps, root.rootKey)
    moved += await retireOtherKeys(deps, { ...root, key: began.key, projects })
    const id = keyId(began.key)
    const previous = root.wraps.map(({ master_key_id }) => master_key_id).filter((each) => each !== id)
    return {
      finished_earlier: began.wasStarted,
      master_key_id: id,
      previous_master_key_ids: previous,
      previous_master_key_files: await keptMasterKeys(deps.config.masterKeyFile, previous),
      master_key_file: deps.config.masterKeyFile,
      projects,
      moved,
      servers,
    }
  })
}

/** A server that was restored with an earlier key names its file. A later restore looks for that key there. */
async function refuseKeptName({ masterKeyFile }: RotateDeps['config']): Promise<void> {
  if (!(await hasKeptName(masterKeyFile))) return
  throw new MasterKeyError(
    `${masterKeyFile} has the name under which svc self-host rotate-key keeps an earlier key, and a new key in it would be taken for that one. Nothing was changed. Copy it to a file of another name, as the user of the server (cp -p), set SVC_MASTER_KEY_FILE to the copy, restart the server, and run this again.`,
  )
}

/** Counts running servers. One without support for the root key would lose access to every secret. */
async function countServers(deps: RotateDeps): Promise<number> {
  const running = await deps.db
    .selectFrom('server_instances')
    .select('knows_root_key')
    .where(isConnected(staleSeconds))
    .execute()
  const old = running.filter(({ knows_root_key }) => !knows_root_key).length
  if (old > 0)
    throw new MasterKeyError(
      `${old} of ${running.length} servers on this database ${old === 1 ? 'runs' : 'run'} an earlier svc that does not support the root key. Nothing was changed. Update and restart them, then try again.`,
    )
  return running.length
}

/** From here on both keys are accepted, whichever the file holds. In the end the file holds the new one. */
async function newMasterKey(deps: RotateDeps, root: OpenedRoot): Promise<{ key: Buffer; wasStarted: boolean }> {
  const { file, access } = await checkMasterKey(deps.config.masterKeyFile)
  const next = `${file}.next`
  await writable(file, () => removeUnfinishedKeys(file))
  let begun = await readMasterKey(next).catch((error: Error) => {
    // The current key has opened the root key.
    throw new MasterKeyError(
      `${error.message} It belongs to an unfinished change, and ${file} still opens everything. Remove ${next}, and run svc self-host rotate-key again.`,
    )
  })
  if (begun !== null && begun.equals(root.masterKey)) {
    // A manual copy of the current key, not a new one.
    await rm(next)
    begun = null
  }
  if (begun === null && root.wraps.length > 1 && root.wraps.at(-1)?.master_key_id === keyId(root.masterKey))
    return { key: root.masterKey, wasStarted: true }
  const key = begun ?? (await writable(file, () => createMasterKey(next, access)))
  await failpoint('rotate.after_key')
  const wrap = { root_key_id: keyId(root.rootKey), master_key_id: keyId(key) }
  await insertIfNew(deps.db, 'root_keys', { ...wrap, wrapped: wrapRootKey(key, root.rootKey) })
  await failpoint('rotate.after_wrap')
  await writable(file, () => keepMasterKey(file, { key: root.masterKey, access }))
  await writable(file, () => replaceMasterKey(file, next))
  await failpoint('rotate.after_file')
  return { key, wasStarted: begun !== null }
}

/** The operator has to fix a read-only folder or another user's. Nothing is lost at that point. */
async function writable<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new MasterKeyError(
      `The new key cannot be written next to ${file} (${message}). The current key still opens everything. Run this as the server's user. If the folder is read-only, copy the key elsewhere, run this with SVC_MASTER_KEY_FILE set to the copy, then put the result in its place.`,
    )
  }
}

/** Returns how many data keys were moved in the meantime. Retires no key before the file on disk provably opens the rest. */
async function retireOtherKeys(deps: RotateDeps, input: OpenedRoot & { key: Buffer; projects: number }) {
  const id = keyId(input.key)
  for (let moved = 0; ; moved += await moveDataKeys(deps, input)) {
    await failpoint('rotate.before_retire')
    const isDone = await deps.db.transaction().execute(async (trx) => {
      // A starting server waits here and then finds only the new key.
      await trx.selectFrom('installation').select('singleton').forUpdate().execute()
      if ((await findRow(trx, 'projects', { data_key_wrapped_by: null })) !== null) return false
      await verifyNewKey(trx, deps, input)
      await trx.deleteFrom('root_keys').where('master_key_id', '!=', id).execute()
      await updateRows(trx, 'installation', {}, { master_key_id: id })
      await recordRotation(trx, { id, ...input })
      return true
    })
    if (!isDone) continue
    await failpoint('rotate.after_retire')
    return moved
  }
}

async function verifyNewKey(trx: Transaction<Schema>, deps: RotateDeps, input: { rootKey: Buffer; key: Buffer }) {
  const onDisk = await readMasterKey(deps.config.masterKeyFile)
  const row = await findRow(trx, 'root_keys', { master_key_id: keyId(input.key) })
  const isThere = onDisk?.equals(input.key) === true && row !== null
  if (!isThere || !unwrapRootKey(onDisk, row.root_key_id, row.wrapped).equals(input.rootKey))
    throw new MasterKeyError(
      `${deps.config.masterKeyFile} changed in the meantime and does not contain the new key. Both keys are still accepted: restore one of them and run this again.`,
    )
}

async function recordRotation(
  trx: Transaction<Schema>,
  input: { id: string; masterKey: Buffer; wraps: OpenedRoot['wraps']; projects: number },
): Promise<void> {
  const owner = await firstOwner(trx)
  for (const { master_key_id: previous } of input.wraps.filter((wrap) => wrap.master_key_id !== input.id))
    await recordOperatorAudit(trx, {
      ...auditEvent({ account_id: owner?.account_id ?? null }, rotateAction, 'master_key', input.id),
      before: { master_key_id: previous },
      after: { master_key_id: input.id, projects: input.projects },
    })
}
