/**
 * Slows down password guessing without locking a user out (docs/decisions/0031). Failures cause delays for their own
 * network only. Failures at one account from many networks make each response slightly slower. A browser that signed
 * in before is counted separately, so strangers do not affect it.
 */
import { ServiceError } from '@svc/contract'
import { sha256 } from '../../auth/credentials.ts'
import type { Deps } from '../../deps.ts'
import { clientNetwork } from '../../http/connections/client-address.ts'
import { countTries, resetTries, uncountTry } from './store.ts'
import { isTrusted } from './trusted-devices.ts'

export interface SignInTry {
  address: string
  /** The browser's device cookie or its dashboard session. */
  device: { kind: 'cookie' | 'session'; id: string } | null
}

const windowMs = 15 * 60_000
/** The number of free tries. Each further one doubles the delay, up to the maximum. */
const delays = {
  device: { free: 10, longestSeconds: 60 },
  addressAndAccount: { free: 5, longestSeconds: 60 },
  address: { free: 30, longestSeconds: 10 },
  account: { free: 20, longestSeconds: 0 },
} as const
const slowestMs = 5000
const noUser = '00000000-0000-0000-0000-000000000000'

/** Counts a try before the password check, so that concurrent tries all count. Throws during a delay. */
export async function countTry(
  deps: Pick<Deps, 'db' | 'now'>,
  { address, device, email, userId }: SignInTry & { email: string; userId: string | null },
): Promise<{ isTrusted: boolean; succeeded(): Promise<void> }> {
  const trusted =
    device !== null &&
    // Also queried for unknown accounts, so that timing reveals nothing.
    (device.kind === 'session' || (await isTrusted(deps, { device: device.id, userId: userId ?? noUser })))
  const network = clientNetwork(address)
  if (trusted) {
    const key = `device ${device.id} ${email}`
    await take(deps, key, delays.device)
    return { isTrusted: true, succeeded: () => resetTries(deps.db, sha256(key)) }
  }
  const both = `address ${network} account ${email}`
  const each = [`address ${network}`, `account ${email}`] as const
  await take(deps, both, delays.addressAndAccount)
  await take(deps, each[0], delays.address)
  const tries = await take(deps, each[1], delays.account)
  await Bun.sleep(slowedMs(tries))
  return {
    isTrusted: false,
    async succeeded() {
      await resetTries(deps.db, sha256(both))
      for (const key of each) await uncountTry(deps.db, sha256(key))
    },
  }
}

/** The extra response time after this many tries at one account. Limited, so that it never becomes a lockout. */
export function slowedMs(tries: number): number {
  const over = tries - delays.account.free
  return over <= 0 ? 0 : Math.min(slowestMs, 125 * 2 ** Math.min(over, 10))
}

async function take({ db, now }: Pick<Deps, 'db' | 'now'>, key: string, delay: (typeof delays)[keyof typeof delays]) {
  const at = now()
  const counted = await countTries(db, sha256(key), { at, until: new Date(at.getTime() + windowMs), ...delay })
  if (typeof counted === 'number') return counted
  const seconds = Math.max(1, Math.ceil((Date.parse(counted.allowedAt) - at.getTime()) / 1000))
  throw new ServiceError('limit_reached', `Too many sign-in attempts. Try again in ${seconds} s.`, {
    hint: 'An owner can create a sign-in link with `svc self-host owner-link`.',
    detail: { retry_after_seconds: seconds },
  })
}
