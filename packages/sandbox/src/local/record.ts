/** A record tells the next server the process, the uids and the limits of a sandbox. It has no value of its environment. */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { SandboxLimits } from '../driver.ts'
import { idPattern } from '../spec.ts'

export interface SandboxRecord {
  /** PID 1 of the sandbox as this machine numbers it. */
  pid: number
  /** When it started, in clock ticks since boot. Distinguishes the process from a later one with the same pid. */
  started: string
  slot: number
  limits: SandboxLimits
}

export const recordIn = (runRoot: string, sandboxId: string) => join(runRoot, `${sandboxId}.json`)

/**
 * Renamed into place: a server killed while it writes leaves the whole record or none. It names its folder, so that a
 * server on a copy of the data does not take the sandboxes of the original for its own.
 */
export function writeRecord(runRoot: string, sandboxId: string, record: SandboxRecord): void {
  const file = recordIn(runRoot, sandboxId)
  writeFileSync(`${file}.new`, JSON.stringify({ ...record, folder: identityOf(runRoot) }), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** The record, if it was written in this folder and its process still runs. */
export function readLiveRecord(runRoot: string, sandboxId: string): SandboxRecord | null {
  if (!idPattern.test(sandboxId)) return null
  let record: Partial<SandboxRecord & { folder: string }>
  try {
    record = JSON.parse(readFileSync(recordIn(runRoot, sandboxId), 'utf8')) as typeof record
  } catch {
    // None, or from a server that was killed while it started the sandbox.
    return null
  }
  const { pid, started, slot, limits, folder } = record
  // Earlier versions wrote no folder, and an upgrade adopts their sandboxes.
  if (folder !== undefined && folder !== identityOf(runRoot)) return null
  if (typeof pid !== 'number' || pid <= 1 || typeof started !== 'string' || !isAlive({ pid, started })) return null
  return typeof slot === 'number' && limits !== undefined ? { pid, started, slot, limits } : null
}

/** Stays when the folder is renamed, and differs for a copy. */
function identityOf(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true })
  return `${dev}:${ino}`
}

export function isAlive({ pid, started }: Pick<SandboxRecord, 'pid' | 'started'>): boolean {
  return startTime(pid) === started
}

/** Null when there is no such process, or only its exit code is left. */
export function startTime(pid: number): string | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // It has ended.
    return null
  }
  // The second field is the program's name, which may contain spaces and brackets; the 22nd is the start time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
}
