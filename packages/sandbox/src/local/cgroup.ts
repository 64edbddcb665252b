/** The control groups of sandboxes as the driver sees them, whichever hierarchy makes them. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { MissingLimit, SandboxLimits } from '../driver.ts'

/** Its own limit, or the one of all sandboxes together. */
export type MemoryTrouble = 'own' | 'shared'

export interface Cgroups {
  /** `scope`: groups of systemd's user manager, by systemd-run. */
  readonly kind: 'v2' | 'v1' | 'scope' | 'none'
  /** Makes the group and answers the files a process writes "0" to in order to enter it. */
  create(sandboxId: string, limits: SandboxLimits): Promise<string[]>
  /** The limits that this version cannot enforce. */
  readonly missing: MissingLimit[]
  /** Words to put before the program that starts a sandbox. */
  prefix(sandboxId: string, limits: SandboxLimits): string[]
  /** Names the limit for which the kernel killed a process in the group; null when it killed none. */
  memoryTrouble(sandboxId: string): Promise<MemoryTrouble | null>
  /** Kills what is in it and removes it. Nothing to do is success. */
  remove(sandboxId: string): Promise<void>
  /** Groups that exist, left-overs included. */
  list(): Promise<string[]>
}

/**
 * Tells the operator how a server without control groups gets them. A scope of systemd's user manager gives none either: the driver has
 * tried one.
 */
export function groupsRemedy(): string {
  if (existsSync('/run/systemd/system'))
    return 'Run the server as a service of the system, to which systemd gives control groups: svc self-host unit --system'
  return 'Run the server as root, or where its user may write the control groups of memory and processes'
}

/** The work tree is in memory (see arrangement.ts), so its limit adds to that of the programs. */
export const memoryBytes = (limits: SandboxLimits) => limits.memoryBytesMax + limits.diskBytesMax

/** In version 2, `oom` counts only events of this group's own limit. */
export async function eventsTrouble(file: string): Promise<MemoryTrouble | null> {
  if ((await counter(file, 'oom_kill')) === 0) return null
  return (await counter(file, 'oom')) > 0 ? 'own' : 'shared'
}

export async function counter(file: string, name: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}
