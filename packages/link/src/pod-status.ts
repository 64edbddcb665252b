/** Reads the control groups of this sandbox, which no cluster API shows: version 2, then version 1. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { SandboxStatus } from './kinds.ts'

const root = '/sys/fs/cgroup'

export function readStatus(folder = root): Omit<SandboxStatus, 'isBooted'> {
  const read = (paths: string[]): string => {
    const path = paths.map((name) => join(folder, name)).find((file) => existsSync(file))
    return path === undefined ? '' : readFileSync(path, 'utf8')
  }
  const events = read(['memory.events', 'memory/memory.oom_control'])
  return {
    memoryKills: Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0),
  }
}
