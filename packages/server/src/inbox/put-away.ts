import { type BodyOf, type putAwayInboxItemRoute, ServiceError } from '@svc/contract'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { findItems } from './item-store.ts'
import { putAway, restore } from './mark-store.ts'
import { readVersion } from './present.ts'

export async function putAwayItem(
  deps: Pick<Deps, 'db' | 'now'>,
  { userId, key, version, until }: BodyOf<typeof putAwayInboxItemRoute> & { userId: string; key: string },
): Promise<void> {
  if (until !== null && Date.parse(until) <= deps.now().getTime())
    throw new ServiceError('invalid', 'An item can be snoozed only until a time in the future.', {
      detail: { issues: [{ path: 'until', message: 'is not in the future' }] },
    })
  if (!isKey(key)) throw noSuchItem()
  const { items } = await findItems(deps.db, {
    userId,
    key,
    view: 'open',
    limit: { all: 1 },
    after: null,
    now: deps.now(),
  })
  if (items.length === 0) throw noSuchItem()
  const shown = readVersion(version)
  await putAway(deps.db, { user_id: userId, item_key: key, ...shown, snoozed_until: until })
}

export async function restoreItem(deps: Pick<Deps, 'db'>, { userId, key }: { userId: string; key: string }) {
  if (!isKey(key) || !(await restore(deps.db, userId, key))) throw noSuchItem()
}

const isKey = (key: string) => /^[a-z_]{1,20}\.[0-9a-f-]{36}$/.test(key)
const noSuchItem = () => notFound('item in your inbox')
