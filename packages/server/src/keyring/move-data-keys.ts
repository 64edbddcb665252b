/** Brings the data keys of projects from under a master key to under the root key. The row says which of them wraps it. */
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { keyId } from './cipher.ts'
import { unwrapByMasterKey, unwrapDataKey, wrapDataKey } from './keyring.ts'
import { MasterKeyError } from './master-key.ts'

const rowsAtOnce = 100

/** Answers how many were moved. A second run goes on with those that are left. */
export async function moveDataKeys(
  deps: Pick<Deps, 'db'>,
  keys: { masterKey: Buffer; rootKey: Buffer },
): Promise<number> {
  const rootKeyId = keyId(keys.rootKey)
  for (let moved = 0; ;) {
    const batch = await deps.db
      .selectFrom('projects')
      .select(['project_id', 'data_key'])
      .where('data_key_wrapped_by', 'is', null)
      .orderBy('project_id')
      .limit(rowsAtOnce)
      .execute()
    if (batch.length === 0) return moved
    await deps.db.transaction().execute(async (trx) => {
      for (const { project_id: id, data_key } of batch) {
        const dataKey = opened(id, () => unwrapByMasterKey(keys.masterKey, id, data_key))
        await trx
          .updateTable('projects')
          .set({ data_key: wrapDataKey(keys.rootKey, id, dataKey), data_key_wrapped_by: rootKeyId })
          .where('project_id', '=', id)
          .where('data_key', '=', data_key)
          .execute()
      }
    })
    moved += batch.length
    await failpoint('rotate.after_batch')
  }
}

/** Opens each data key, and answers how many there are. */
export async function checkDataKeys(deps: Pick<Deps, 'db'>, rootKey: Buffer): Promise<number> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (let count = 0; ;) {
    const batch = await deps.db
      .selectFrom('projects')
      .select(['project_id', 'data_key'])
      .where('data_key_wrapped_by', 'is not', null)
      .where('project_id', '>', after)
      .orderBy('project_id')
      .limit(rowsAtOnce)
      .execute()
    const last = batch.at(-1)
    if (last === undefined) return count
    for (const { project_id: id, data_key } of batch) opened(id, () => unwrapDataKey(rootKey, id, data_key))
    count += batch.length
    after = last.project_id
  }
}

function opened(projectId: string, open: () => Buffer): Buffer {
  try {
    return open()
  } catch {
    // The tag does not fit: the row is damaged, and no key will open it.
    throw new MasterKeyError(
      `The data key of project ${projectId} is damaged and cannot be wrapped anew. No key was given up: both open what they opened. Restore that row of table projects from a backup, or delete the project, then run this again.`,
    )
  }
}
