import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'
import { deleteRows, findRow, insertRow, updateRow, updateRows } from '../../db/rows.ts'

/** Removes expired links, too: used or not, they say nothing any more. */
export async function insertOwnerLink(
  db: DbOrTransaction,
  { now, ...link }: { sha256: Buffer; user_id: string; expires_at: Date; now: Date },
): Promise<void> {
  await deleteRows(db, 'owner_links', { expires_at: sql`< ${now}` })
  return insertRow(db, 'owner_links', { ...link, used_at: null })
}

/** Returns the user of an unused, unexpired link. The condition makes a link work once, even for concurrent requests. */
export async function useOwnerLink(db: DbOrTransaction, hash: Buffer, now: Date): Promise<string | null> {
  const unused = { sha256: hash, used_at: null, expires_at: sql`> ${now}` }
  return (await updateRow(db, 'owner_links', unused, { used_at: now }))?.user_id ?? null
}

interface NewTry {
  at: Date
  until: Date
  /** Each try after these doubles the delay, up to `longestSeconds`. */
  free: number
  longestSeconds: number
}

/** Returns the number of tries in the window, or the end of the delay. A single statement counts, so that several servers agree. */
export async function countTries(db: DbOrTransaction, hash: Buffer, { at, until, free, longestSeconds }: NewTry) {
  await deleteRows(db, 'sign_in_limits', { expires_at: sql`< ${at}` })
  const { rows } = await sql<{ tries: number }>`
    insert into sign_in_limits as known (sha256, tries, allowed_at, expires_at)
    values (${hash}, 1, ${at}, ${until})
    on conflict (sha256) do update set
      tries = known.tries + 1,
      allowed_at = ${at}::timestamptz + interval '1 second' * case
        when known.tries < ${free}::integer then 0
        else least(${longestSeconds}::integer, power(2, least(known.tries + 1 - ${free}::integer, 20)))
      end,
      expires_at = ${until}
    where known.allowed_at <= ${at}
    returning tries`.execute(db)
  if (rows[0] !== undefined) return rows[0].tries
  const row = await findRow(db, 'sign_in_limits', { sha256: hash })
  return { allowedAt: row?.allowed_at ?? at.toISOString() }
}

/** Removes a single try: others from the address or at the account stay counted. */
export async function uncountTry(db: DbOrTransaction, hash: Buffer): Promise<void> {
  await updateRows(db, 'sign_in_limits', { sha256: hash }, { tries: sql`greatest(tries - 1, 0)` })
}

export async function resetTries(db: DbOrTransaction, hash: Buffer): Promise<void> {
  await deleteRows(db, 'sign_in_limits', { sha256: hash })
}

const devicesMax = 50

/** Adds or renews a device, and removes the user's oldest ones. */
export async function upsertTrustedDevice(
  db: DbOrTransaction,
  device: { sha256: Buffer; user_id: string; created_at: Date; expires_at: Date },
): Promise<void> {
  const { user_id, expires_at } = device
  await db
    .insertInto('trusted_devices')
    .values(device)
    .onConflict((on) => on.column('sha256').doUpdateSet({ expires_at }))
    .execute()
  const newest = db
    .selectFrom('trusted_devices')
    .select('sha256')
    .where('user_id', '=', user_id)
    .orderBy('expires_at', 'desc')
    .limit(devicesMax)
  await db.deleteFrom('trusted_devices').where('user_id', '=', user_id).where('sha256', 'not in', newest).execute()
}

export async function isTrustedDevice(db: DbOrTransaction, device: { sha256: Buffer; userId: string; now: Date }) {
  const { sha256, userId: user_id, now } = device
  return (await findRow(db, 'trusted_devices', { sha256, user_id, expires_at: sql`> ${now}` })) !== null
}

/** A new password ends the trust in every browser; signing in renews it. */
export async function deleteTrustedDevices(db: DbOrTransaction, userId: string): Promise<void> {
  await deleteRows(db, 'trusted_devices', { user_id: userId })
}
