/** Maps a sandbox's uids to host uids. */
import { readFileSync } from 'node:fs'

import { idsPerSandbox } from '../layout.ts'

export type Identity =
  /** The server is root: every sandbox has its own range, so even outside its namespaces it owns no other files. */
  | { kind: 'ranges' }
  /** Unprivileged: inner 0 is the server's user; the agent's ids come from its range in /etc/subuid and /etc/subgid. */
  | { kind: 'subordinate'; uid: number; gid: number; subUid: Range; subGid: Range }
  /** Unprivileged without such a range: daemon and agent share one uid, which isolates them less. */
  | { kind: 'single'; uid: number; gid: number }

interface Range {
  start: number
  count: number
}

export function readIdentity(): Identity {
  const uid = process.getuid?.() ?? 0
  const gid = process.getgid?.() ?? 0
  if (uid === 0) return { kind: 'ranges' }
  const names = [userName(), String(uid)]
  const subUid = subordinateRange('/etc/subuid', names)
  const subGid = subordinateRange('/etc/subgid', names)
  return subUid && subGid ? { kind: 'subordinate', uid, gid, subUid, subGid } : { kind: 'single', uid, gid }
}

/** Far above the ranges of useradd and container engines. */
const firstUid = 1_000_000_000
const slotsMax = 32_768

export const firstUidOf = (slot: number): number => firstUid + slot * idsPerSandbox

/** Allocates the lowest free range. */
export function createSlots(): { take(): number; reserve(slot: number): void; give(slot: number): void } {
  const taken = new Set<number>()
  return {
    take() {
      for (let slot = 0; slot < slotsMax; slot++) {
        if (taken.has(slot)) continue
        taken.add(slot)
        return slot
      }
      throw new Error(`All ${slotsMax} uid ranges are in use.`)
    },
    reserve(slot) {
      taken.add(slot)
    },
    give(slot) {
      taken.delete(slot)
    },
  }
}

/** Bun's `userInfo` believes $USER. Empty without a passwd entry: then files can name this user only by number. */
export function userName(): string {
  return Bun.spawnSync(['id', '-un'], { stderr: 'ignore' }).stdout.toString().trim()
}

function subordinateRange(file: string, names: string[]): Range | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return null
  }
  for (const line of text.split('\n')) {
    const [name = '', start, count] = line.split(':')
    const range = { start: Number(start), count: Number(count) }
    // The agent is inner 1000, so the range must include it.
    if (name !== '' && names.includes(name) && range.start > 0 && range.count > 1000) return range
  }
  return null
}
