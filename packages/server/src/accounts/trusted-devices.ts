/**
 * Browsers in which a user has signed in before. The cookie opens nothing: it only exempts its browser from the delays that
 * strangers' tries cause.
 */
import { parse } from 'hono/utils/cookie'
import { base62 } from '@svc/contract'
import { sha256 } from '../auth/credentials.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'

/** The longest that browsers keep a cookie. */
const days = 400
const devicesMax = 50

function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-svc_device' : 'svc_device'
}

export function deviceOf(publicUrl: string, header: string | null): string | null {
  const value = header === null ? undefined : parse(header)[cookieName(publicUrl)]
  return value !== undefined && /^[0-9A-Za-z]{40}$/.test(value) ? value : null
}

/** Set-Cookie for a browser in which `userId` has just signed in. A cookie of another user is replaced, never shared. */
export async function trustDevice(
  deps: Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>,
  userId: string,
  header: string | null,
): Promise<string> {
  const { publicUrl } = deps.config
  const known = deviceOf(publicUrl, header)
  const value =
    known !== null && (await isTrusted(deps, { device: known, userId })) ? known : base62(40, deps.randomBytes)
  const expires_at = new Date(deps.now().getTime() + days * 86_400_000)
  await deps.db
    .insertInto('trusted_devices')
    .values({ sha256: sha256(value), user_id: userId, created_at: deps.now(), expires_at })
    .onConflict((on) => on.column('sha256').doUpdateSet({ expires_at }))
    .execute()
  const kept = deps.db
    .selectFrom('trusted_devices')
    .select('sha256')
    .where('user_id', '=', userId)
    .orderBy('expires_at', 'desc')
    .limit(devicesMax)
  await deps.db.deleteFrom('trusted_devices').where('user_id', '=', userId).where('sha256', 'not in', kept).execute()
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${days * 86_400}${secure}`
}

export async function isTrusted(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { device: string; userId: string },
): Promise<boolean> {
  const row = await deps.db
    .selectFrom('trusted_devices')
    .select('user_id')
    .where('sha256', '=', sha256(input.device))
    .where('user_id', '=', input.userId)
    .where('expires_at', '>', deps.now().toISOString())
    .executeTakeFirst()
  return row !== undefined
}

/** A new password ends the trust in every browser; each earns it again by signing in. */
export async function forgetDevices(db: DbOrTransaction, userId: string): Promise<void> {
  await db.deleteFrom('trusted_devices').where('user_id', '=', userId).execute()
}
