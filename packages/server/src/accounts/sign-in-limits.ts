/**
 * Slows guessing of passwords without locking a person out (docs/decisions/0031). Wrong tries make pauses for their own
 * address only. Tries at one account from many addresses make each answer a little slower. A browser in which the person
 * has signed in before is counted by itself, so strangers change nothing for it.
 */
import { ServiceError } from '@svc/contract'
import { sql } from 'kysely'
import { sha256 } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork } from '../http/client-address.ts'
import { isTrusted } from './trusted-devices.ts'

export interface SignInTry {
  address: string
  /** The browser's own cookie, or the dashboard session that speaks. */
  device: { kind: 'cookie' | 'session'; id: string } | null
}

const windowMs = 15 * 60_000
/** So many tries are free. Each further one doubles the pause after it, up to the longest. */
const pauses = {
  device: { free: 10, longestSeconds: 60 },
  addressAndAccount: { free: 5, longestSeconds: 60 },
  address: { free: 30, longestSeconds: 10 },
  account: { free: 20, longestSeconds: 0 },
} as const
const slowestMs = 5000
const noUser = '00000000-0000-0000-0000-000000000000'

/** Counts a try before the password is looked at, so that many tries at once are as many. Throws while a pause lasts. */
export async function countTry(
  deps: Pick<Deps, 'db' | 'now'>,
  { address, device, email, userId }: SignInTry & { email: string; userId: string | null },
): Promise<{ isTrusted: boolean; succeeded(): Promise<void> }> {
  const trusted =
    device !== null &&
    // Asked for an unknown account as well, so that the time tells nothing.
    (device.kind === 'session' || (await isTrusted(deps, { device: device.id, userId: userId ?? noUser })))
  const network = clientNetwork(address)
  if (trusted) {
    const key = `device ${device.id} ${email}`
    await take(deps, key, pauses.device)
    return { isTrusted: true, succeeded: () => forget(deps, key) }
  }
  const both = `address ${network} account ${email}`
  const each = [`address ${network}`, `account ${email}`] as const
  await take(deps, both, pauses.addressAndAccount)
  await take(deps, each[0], pauses.address)
  const tries = await take(deps, each[1], pauses.account)
  await Bun.sleep(slowedMs(tries))
  return {
    isTrusted: false,
    async succeeded() {
      await forget(deps, both)
      for (const key of each) await giveBack(deps, key)
    },
  }
}

/** How long an answer waits after that many tries at one account. Bounded: it must never become a lock-out. */
export function slowedMs(tries: number): number {
  const over = tries - pauses.account.free
  return over <= 0 ? 0 : Math.min(slowestMs, 125 * 2 ** Math.min(over, 10))
}

/** How many tries this makes within the window. One statement, so that several servers agree. */
async function take(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  key: string,
  { free, longestSeconds }: { free: number; longestSeconds: number },
): Promise<number> {
  const at = now()
  const until = new Date(at.getTime() + windowMs)
  await db.deleteFrom('sign_in_limits').where('expires_at', '<', at.toISOString()).execute()
  const { rows } = await sql<{ tries: number }>`
    insert into sign_in_limits as known (sha256, tries, allowed_at, expires_at)
    values (${sha256(key)}, 1, ${at}, ${until})
    on conflict (sha256) do update set
      tries = known.tries + 1,
      allowed_at = ${at}::timestamptz + interval '1 second' * case
        when known.tries < ${free}::integer then 0
        else least(${longestSeconds}::integer, power(2, least(known.tries + 1 - ${free}::integer, 20)))
      end,
      expires_at = ${until}
    where known.allowed_at <= ${at}
    returning tries`.execute(db)
  const tries = rows[0]?.tries
  if (tries !== undefined) return tries
  const row = await db
    .selectFrom('sign_in_limits')
    .select('allowed_at')
    .where('sha256', '=', sha256(key))
    .executeTakeFirst()
  const waitMs = Date.parse(row?.allowed_at ?? at.toISOString()) - at.getTime()
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  throw new ServiceError('limit_reached', `Too many tries to sign in. Wait ${seconds} s.`, {
    hint: 'An owner can make a sign-in link with `svc self-host owner-link`.',
    detail: { retry_after_seconds: seconds },
  })
}

/** Only this try: what others did from the address or at the account stays counted. */
async function giveBack({ db }: Pick<Deps, 'db'>, key: string): Promise<void> {
  await db
    .updateTable('sign_in_limits')
    .set({ tries: sql`greatest(tries - 1, 0)` })
    .where('sha256', '=', sha256(key))
    .execute()
}

async function forget({ db }: Pick<Deps, 'db'>, key: string): Promise<void> {
  await db.deleteFrom('sign_in_limits').where('sha256', '=', sha256(key)).execute()
}
