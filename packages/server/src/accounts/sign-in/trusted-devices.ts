/** Browsers in which a user signed in before. The cookie grants no access; it only exempts its browser from delays that strangers cause. */
import { base62 } from '@svc/contract'
import { sha256 } from '../../auth/credentials.ts'
import { readCookie, setCookie } from '../../http/cookies.ts'
import { isTrustedDevice, upsertTrustedDevice } from './store.ts'
import type { Deps } from '../../deps.ts'

/** The longest lifetime browsers allow. */
const days = 400

export function deviceOf(publicUrl: string, header: string | null): string | null {
  const value = readCookie(publicUrl, 'device', header)
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
  return setCookie(publicUrl, 'device', value, days * 86_400)
}

export function isTrusted(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { device, userId }: { device: string; userId: string },
): Promise<boolean> {
  return isTrustedDevice(db, { sha256: sha256(device), userId, now: now() })
}
