/** Browsers in which a user signed in before. The cookie grants no access; it only exempts its browser from delays that strangers cause. */
import { parse } from 'hono/utils/cookie'
import { base62 } from '@svc/contract'
import { sha256 } from '../../auth/credentials.ts'
import { isTrustedDevice, upsertTrustedDevice } from './store.ts'
import type { Deps } from '../../deps.ts'

/** The longest lifetime browsers allow. */
const days = 400

function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-svc_device' : 'svc_device'
}

export function deviceOf(publicUrl: string, header: string | null): string | null {
  const value = header === null ? undefined : parse(header)[cookieName(publicUrl)]
  return value !== undefined && /^[0-9A-Za-z]{40}$/.test(value) ? value : null
}

/** The Set-Cookie header for a browser in which `userId` just signed in. Replaces the cookie of another user. */
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
  await upsertTrustedDevice(deps.db, { sha256: sha256(value), user_id: userId, created_at: deps.now(), expires_at })
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${days * 86_400}${secure}`
}

export function isTrusted(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { device, userId }: { device: string; userId: string },
): Promise<boolean> {
  return isTrustedDevice(db, { sha256: sha256(device), userId, now: now() })
}
