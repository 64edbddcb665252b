/**
 * The lock of a bucket: an object that its holder rewrites every few seconds. One that was not rewritten for longer is
 * that of a command that died. Conditional writes decide between two commands. A store that ignores the conditions is
 * noticed; there a command waits after its write, and reads whether the lock is still its own.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { PlaceError } from '../place.ts'
import { isAbsent, isConditionFailed, isUnsupported } from './failures.ts'
import { encoded, type Requests } from './requests.ts'

export const lockName = 'backup.lock'

export interface LockTimes {
  renewMs: number
  /** Without a renewal for so long, the holder has died. */
  leaseMs: number
  /** Longer than a request takes, where the store ignores conditions. */
  settleMs: number
  pollMs: number
}

const holder = z.object({ owner: z.string(), host: z.string(), pid: z.number(), lease_ms: z.number() })
type Holder = z.infer<typeof holder>

interface Found {
  /** Null: not written by svc. */
  holder: Holder | null
  etag: string
}

export interface BucketLock {
  /** Throws when a renewal has shown that another command has taken the lock. */
  requireUntaken(): void
  /** Renews it, and throws the same. */
  requireHeld(): Promise<void>
  release(): Promise<void>
}

/** Null: another command holds it. Waits until a holder that died is recognized. */
export async function takeLock(
  requests: Requests,
  { onWait, ...times }: LockTimes & { onWait(reason: string): void },
): Promise<BucketLock | null> {
  const own: Holder = { owner: randomUUID(), host: hostname(), pid: process.pid, lease_ms: times.leaseMs }
  const found = await readLock(requests)
  if (found !== null && (await isRenewed(requests, found, { ...times, onWait }))) return null
  const isOurs = await claim(requests, { own, found, times })
  return isOurs ? new HeldLock(requests, own, times) : null
}

async function readLock(requests: Requests): Promise<Found | null> {
  try {
    const response = await requests.get(lockName)
    const etag = response.headers.get('etag') ?? ''
    return { holder: parseHolder(await response.text()), etag }
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
}

function parseHolder(text: string): Holder | null {
  try {
    return holder.parse(JSON.parse(text))
  } catch {
    return writtenByAnother()
  }
}

/** A lock with this content counts as one that is not renewed. */
function writtenByAnother(): null {
  return null
}

/** By this machine's clock alone, so that no clocks need to agree. */
async function isRenewed(
  requests: Requests,
  found: Found,
  { pollMs, leaseMs, onWait }: LockTimes & { onWait(reason: string): void },
): Promise<boolean> {
  const { host, pid, lease_ms } = found.holder ?? { host: 'another machine', pid: 0, lease_ms: leaseMs }
  const until = requests.now() + lease_ms
  onWait(`for the lock of process ${pid} on ${host}`)
  for (;;) {
    const now = await readLock(requests)
    if (now === null) return false
    if (now.etag !== found.etag) return true
    if (requests.now() >= until) return false
    await delay(pollMs)
  }
}

async function claim(
  requests: Requests,
  { own, found, times }: { own: Holder; found: Found | null; times: LockTimes },
): Promise<boolean> {
  const condition: Record<string, string> = found === null ? { 'if-none-match': '*' } : { 'if-match': found.etag }
  if (!(await isWritten(requests, own, condition))) return false
  if (await honorsConditions(requests, own)) return true
  await delay(times.settleMs)
  return (await readLock(requests))?.holder?.owner === own.owner
}

/** False: the condition does not hold. A store without conditions writes it at once. */
async function isWritten(requests: Requests, own: Holder, condition: Record<string, string>): Promise<boolean> {
  try {
    await requests.put(lockName, contentOf(own), condition)
    return true
  } catch (error) {
    // The reply to an earlier try may have been lost. Absent: its holder has released it.
    if (isConditionFailed(error) || isAbsent(error)) return (await readLock(requests))?.holder?.owner === own.owner
    if (!isUnsupported(error)) throw error
    await requests.put(lockName, contentOf(own))
    return true
  }
}

/** The lock is there, so a store that honors the condition refuses this. */
async function honorsConditions(requests: Requests, own: Holder): Promise<boolean> {
  try {
    await requests.put(lockName, contentOf(own), { 'if-none-match': '*' })
    return false
  } catch (error) {
    if (isConditionFailed(error)) return true
    if (isUnsupported(error)) return false
    throw error
  }
}

/** Each writing has another ETag, so that a waiting command sees a renewal. */
function contentOf(own: Holder): Uint8Array<ArrayBuffer> {
  return encoded(`${JSON.stringify({ ...own, written: randomUUID() })}\n`)
}

class HeldLock implements BucketLock {
  readonly #requests: Requests
  readonly #own: Holder
  readonly #ends = new AbortController()
  #isTaken = false
  readonly #renewing: Promise<void>

  constructor(requests: Requests, own: Holder, times: LockTimes) {
    this.#requests = requests
    this.#own = own
    this.#renewing = this.#renewUntilEnd(times.renewMs)
  }

  requireUntaken(): void {
    if (!this.#isTaken) return
    throw new PlaceError(
      `Another backup to ${this.#requests.bucket.address} has begun, because this one did not reach the store for too long. Earlier backups are whole. Run this one again when the other has ended.`,
    )
  }

  async requireHeld(): Promise<void> {
    await this.#renew()
    this.requireUntaken()
  }

  async release(): Promise<void> {
    this.#ends.abort()
    await this.#renewing
    if (this.#isTaken) return
    const found = await readLock(this.#requests)
    if (found?.holder?.owner === this.#own.owner) await this.#requests.remove(lockName)
  }

  async #renewUntilEnd(everyMs: number): Promise<void> {
    const { signal } = this.#ends
    while (!signal.aborted && !this.#isTaken) {
      await delay(everyMs, undefined, { signal }).catch(ended)
      if (!signal.aborted) await this.#renew().catch(isTriedAgain)
    }
  }

  async #renew(): Promise<void> {
    const found = await readLock(this.#requests)
    if (found?.holder?.owner === this.#own.owner) {
      const isRenewed = await isWritten(this.#requests, this.#own, { 'if-match': found.etag })
      if (isRenewed) return
    }
    this.#isTaken = true
  }
}

function ended(): void {}

/** While the store does not answer, no other command can take the lock either. */
function isTriedAgain(): void {}
