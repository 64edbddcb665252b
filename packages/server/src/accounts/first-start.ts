import type { Deps } from '../deps.ts'
import { firstOwner, insertAccountWithOwner } from './store.ts'

/** Makes the account and its owner when there is none. Two servers that start at once make one: the whole is under a lock. */
export async function ensureOwner(
  deps: Pick<Deps, 'db' | 'newId'>,
): Promise<{ user_id: string; account_id: string; isNew: boolean }> {
  return deps.db.transaction().execute(async (trx) => {
    await trx.selectFrom('installation').select('singleton').forUpdate().execute()
    const found = await firstOwner(trx)
    if (found !== null) return { ...found, isNew: false }
    const made = { account_id: deps.newId(), user_id: deps.newId() }
    await insertAccountWithOwner(trx, { ...made, account_name: 'Personal', user_name: 'Owner', plan: 'selfhost' })
    return { ...made, isNew: true }
  })
}
