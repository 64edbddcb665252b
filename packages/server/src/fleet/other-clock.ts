/** Servers refuse a request of a server whose clock differs: an attacker can have kept the request and send it again. */
import { aheadText } from '@svc/contract/clocks'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'

/** `seconds`: how far the clock of `of` is ahead of that of `than`; negative when it is behind. */
export interface OtherClock {
  of: string
  than: string
  seconds: number
}

export function clockText({ of, than, seconds }: OtherClock): string {
  return `The clock of ${of} is ${aheadText(seconds)} that of ${than}; servers accept one minute.`
}

export const synchronizeBoth =
  'Synchronize the clocks of both: timedatectl set-ntp true. `svc self-host doctor` on the machine of each compares its clock with that of the database.'

/** A line a minute for each server is enough. */
const logged = new LRUCache<string, true>({ max: 100, ttl: 60_000 })

export function logOtherClock({ log }: Pick<Deps, 'log'>, clock: OtherClock): void {
  const { of: from, than, seconds } = clock
  const between = `${from} ${than}`
  if (!logged.has(between)) log.error({ from, seconds }, `refused a request of another server: ${clockText(clock)}`)
  logged.set(between, true)
}
