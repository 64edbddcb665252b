/**
 * Puts another master key in the place of the one that is there, while servers run. They hold the root key in memory,
 * which stays what it is: only what wraps it changes, and each server reads the file at its next start.
 * Whoever dies at any line leaves a file that opens the data, and the next run finishes what was begun.
 */
import { rm } from 'node:fs/promises'
import { sql, type Transaction } from 'kysely'
import { firstOwner } from '../accounts/store.ts'
import { isLiving } from '../db/living.ts'
import { withLock } from '../db/lock.ts'
import type { Schema } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { keyId } from './cipher.ts'
import { unwrapRootKey, wrapRootKey } from './keyring.ts'
import { createMasterKey, lookAtMasterKey, MasterKeyError, readMasterKey, replaceMasterKey } from './master-key.ts'
import { checkDataKeys, moveDataKeys } from './move-data-keys.ts'
import { type OpenedRoot, openRootKey, rotateAction } from './open-keyring.ts'

/** As long as other work waits for a server whose machine may be gone. */
const deadAfterSeconds = 30

type RotateDeps = Pick<Deps, 'db' | 'locks' | 'localLocks'> & {
  config: Pick<Deps['config'], 'masterKeyFile' | 'dataDir'>
}

export interface Rotation {
  /** Whether this finished a change that an earlier run began. */
  finished_earlier: boolean
  master_key_id: string
  previous_master_key_ids: string[]
  master_key_file: string
  /** Projects whose data key was opened under the root key. */
  projects: number
  /** Of these, how many the master key itself had wrapped until now. */
  moved: number
  /** Servers that run meanwhile. */
  servers: number
}

export async function rotateMasterKey(deps: RotateDeps): Promise<Rotation> {
  return withLock(deps, 'svc master key', async () => {
    const servers = await countServers(deps)
    if ((await readMasterKey(deps.config.masterKeyFile)) === null)
      throw new MasterKeyError(
        `There is no master key at ${deps.config.masterKeyFile}. Run this on the machine of the server, with the settings it runs with.`,
      )
    const root = await openRootKey(deps)
    // A new key would open nothing of theirs, so what it has to open goes below the root key first.
    let moved = await moveDataKeys(deps, root)
    const began = await newMasterKey(deps, root)
    const projects = await checkDataKeys(deps, root.rootKey)
    moved += await retireOthers(deps, { ...root, key: began.key, projects })
    const id = keyId(began.key)
    return {
      finished_earlier: began.wasBegun,
      master_key_id: id,
      previous_master_key_ids: root.wraps.map(({ master_key_id }) => master_key_id).filter((each) => each !== id),
      master_key_file: deps.config.masterKeyFile,
      projects,
      moved,
      servers,
    }
  })
}

/** Servers that run; one that does not know of a root key would lose sight of every secret. */
async function countServers(deps: RotateDeps): Promise<number> {
  const running = await deps.db
    .selectFrom('server_instances')
    .select('knows_root_key')
    .where(isLiving(sql.ref('instance_id'), deadAfterSeconds))
    .execute()
  const old = running.filter(({ knows_root_key }) => !knows_root_key).length
  if (old > 0)
    throw new MasterKeyError(
      `${old} of ${running.length} servers on this database run an earlier svc, which would not understand what this writes. Nothing was changed. Update and restart them, then try again.`,
    )
  return running.length
}

/** From here on two keys are accepted, whichever of them the file holds; in the end it holds the new one. */
async function newMasterKey(deps: RotateDeps, root: OpenedRoot): Promise<{ key: Buffer; wasBegun: boolean }> {
  const { file, access } = await lookAtMasterKey(deps.config.masterKeyFile)
  const next = `${file}.next`
  let begun = await readMasterKey(next)
  if (begun !== null && begun.equals(root.masterKey)) {
    // A copy of the key that is there, made by hand: it is no new one.
    await rm(next)
    begun = null
  }
  if (begun === null && root.wraps.length > 1 && root.wraps.at(-1)?.master_key_id === keyId(root.masterKey))
    return { key: root.masterKey, wasBegun: true }
  const key = begun ?? (await writable(file, () => createMasterKey(next, access)))
  await failpoint('rotate.after_key')
  const wrap = { root_key_id: keyId(root.rootKey), master_key_id: keyId(key) }
  await deps.db
    .insertInto('root_keys')
    .values({ ...wrap, wrapped: wrapRootKey(key, root.rootKey) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await failpoint('rotate.after_wrap')
  await writable(file, () => replaceMasterKey(file, next))
  await failpoint('rotate.after_file')
  return { key, wasBegun: begun !== null }
}

/** A folder that is mounted read-only, or another user's, is the operator's to mend; nothing was lost by then. */
async function writable<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new MasterKeyError(
      `The new key cannot be put beside ${file} (${message}). The key that is there still opens everything. Run this as the user the server runs as; where the folder is read-only, copy the key elsewhere and run this with SVC_MASTER_KEY_FILE naming the copy, then put the result in its place.`,
    )
  }
}

/** Answers how many data keys had to be moved still. Nothing is taken back before the file on the disk was seen to open what stays. */
async function retireOthers(deps: RotateDeps, input: OpenedRoot & { key: Buffer; projects: number }): Promise<number> {
  const id = keyId(input.key)
  for (let moved = 0; ; moved += await moveDataKeys(deps, input)) {
    await failpoint('rotate.before_retire')
    const isDone = await deps.db.transaction().execute(async (trx) => {
      // Whoever starts now waits, and then finds the new key alone.
      await trx.selectFrom('installation').select('singleton').forUpdate().execute()
      const left = await trx
        .selectFrom('projects')
        .select('project_id')
        .where('data_key_wrapped_by', 'is', null)
        .limit(1)
        .execute()
      if (left.length > 0) return false
      await proveNewKey(trx, deps, input)
      await trx.deleteFrom('root_keys').where('master_key_id', '!=', id).execute()
      await trx.updateTable('installation').set({ master_key_id: id }).execute()
      await recordRotation(trx, { id, ...input })
      return true
    })
    if (!isDone) continue
    await failpoint('rotate.after_retire')
    return moved
  }
}

async function proveNewKey(trx: Transaction<Schema>, deps: RotateDeps, input: { rootKey: Buffer; key: Buffer }) {
  const onDisk = await readMasterKey(deps.config.masterKeyFile)
  const row = await trx
    .selectFrom('root_keys')
    .select(['root_key_id', 'wrapped'])
    .where('master_key_id', '=', keyId(input.key))
    .executeTakeFirst()
  const isThere = onDisk?.equals(input.key) === true && row !== undefined
  if (!isThere || !unwrapRootKey(onDisk, row.root_key_id, row.wrapped).equals(input.rootKey))
    throw new MasterKeyError(
      `${deps.config.masterKeyFile} changed meanwhile and does not hold the new key. Both keys are still accepted: put one of them there and run this again.`,
    )
}

async function recordRotation(
  trx: Transaction<Schema>,
  input: { id: string; masterKey: Buffer; wraps: OpenedRoot['wraps']; projects: number },
): Promise<void> {
  const owner = await firstOwner(trx)
  for (const { master_key_id: previous } of input.wraps.filter((wrap) => wrap.master_key_id !== input.id))
    await trx
      .insertInto('audit_events')
      .values({
        // Whoever may read the key's file and reach the database; no token says who that is.
        actor_kind: 'operator',
        actor_user_id: null,
        token_id: null,
        session_id: null,
        request_id: null,
        address: null,
        account_id: owner?.account_id ?? null,
        project_id: null,
        action: rotateAction,
        object_type: 'master_key',
        object_id: input.id,
        before: JSON.stringify({ master_key_id: previous }),
        after: JSON.stringify({ master_key_id: input.id, projects: input.projects }),
      })
      .execute()
}
