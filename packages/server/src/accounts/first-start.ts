import type { Deps } from '../deps.ts'
import { firstOwner, insertAccountWithOwner, lockInstallation } from './store.ts'

/** Creates the first account and its owner if there is none. The lock makes two servers that start together create one. */
export async function ensureOwner(deps: Pick<Deps, 'db' | 'newId'>) {
  return deps.db.transaction().execute(async (trx) => {
    await lockInstallation(trx)
    const found = await firstOwner(trx)
    if (found !== null) return { ...found, isNew: false }
    const made = { account_id: deps.newId(), user_id: deps.newId() }
    await insertAccountWithOwner(trx, { ...made, account_name: 'Personal', user_name: 'Owner', plan: 'selfhost' })
    return { ...made, isNew: true }
  })
}
