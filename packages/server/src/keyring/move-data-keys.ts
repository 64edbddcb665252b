/** Rewraps data keys from the master key to the root key. Each row names the key that wraps it. */
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { replaceDataKey } from '../projects/store.ts'
import { keyId } from './cipher.ts'
import { unwrapByMasterKey, unwrapDataKey, wrapDataKey } from './keyring.ts'
import { MasterKeyError } from './master-key.ts'

const rowsAtOnce = 100

/** Returns how many were moved. Another run continues with the rest. */
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
        const after = wrapDataKey(keys.rootKey, id, dataKey)
        await replaceDataKey(trx, { projectId: id, before: data_key, after, wrappedBy: rootKeyId })
      }
    })
    moved += batch.length
    await failpoint('rotate.after_batch')
  }
}

/** Decrypts every data key and returns the count. */
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
    // The tag does not match: the row is damaged, and no key opens it.
    throw new MasterKeyError(
      `The data key of project ${projectId} is damaged and cannot be rewrapped. Both keys stay valid. Restore that row of the table projects from a backup, or delete the project, then run this again.`,
    )
  }
}
