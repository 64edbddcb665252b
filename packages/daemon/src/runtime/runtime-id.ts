import { randomBytes } from 'node:crypto'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomChars = 14
let last = 0n

/**
 * An id in the form of the agent runtime, which orders messages by their ids: 48 bits of the time in 4096ths of a
 * millisecond, then random characters or the given end.
 */
export function runtimeId(prefix: 'msg' | 'prt', end: string | null = null): string {
  const now = BigInt(Date.now()) * 0x1000n
  last = now > last ? now : last + 1n
  const time = (last & 0xffff_ffff_ffffn).toString(16).padStart(12, '0')
  return `${prefix}_${time}${end ?? random()}`
}

const random = () => [...randomBytes(randomChars)].map((byte) => digits[byte % digits.length]).join('')
