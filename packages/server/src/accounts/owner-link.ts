import { base62, ServiceError } from '@svc/contract'
import { sha256 } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'

const linkHours = 24

/** A link that signs its first opener in as `userId`. The code is in the fragment, which no server and no proxy log sees. */
export async function makeOwnerLink(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>,
  userId: string,
): Promise<{ url: string; expires_at: string }> {
  const code = base62(32, deps.randomBytes)
  const expiresAt = new Date(deps.now().getTime() + linkHours * 3_600_000)
  await deps.db
    .insertInto('owner_links')
    .values({ sha256: sha256(code), user_id: userId, expires_at: expiresAt, used_at: null })
    .execute()
  return { url: `${deps.config.publicUrl}/sign-in#${code}`, expires_at: expiresAt.toISOString() }
}

/** The user of an unused, unexpired code; the condition in the update makes it work once however many open it at the same time. */
export async function redeemOwnerLink(deps: Pick<Deps, 'db' | 'now'>, code: string): Promise<string> {
  const now = deps.now().toISOString()
  const row = await deps.db
    .updateTable('owner_links')
    .set({ used_at: now })
    .where('sha256', '=', sha256(code))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst()
  if (row === undefined)
    throw new ServiceError('unauthenticated', 'This link was used already or has expired.', {
      hint: 'Make a new one with `svc self-host owner-link`.',
    })
  return row.user_id
}
