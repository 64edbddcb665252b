/**
 * Limits for a server that may not use control groups, on a machine with systemd: its user manager creates a scope
 * per sandbox. systemd-run replaces itself with the program it starts, so the process stays our child.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { MissingLimit, SandboxLimits } from '../driver.ts'
import { type Cgroups, eventsTrouble, memoryBytes } from './cgroup.ts'
import { findProgram } from './probe.ts'

const run = promisify(execFile)

const tryMs = 5_000
const tried: SandboxLimits = { memoryBytesMax: 64 * 1024 ** 2, diskBytesMax: 0, processesMax: 64, cpuMax: 1 }
/** Prints the limits that the kernel enforces in the scope. */
const lookScript = `at=$(sed -n 's/^0:://p' /proc/self/cgroup)
cd "/sys/fs/cgroup$at" && cat memory.max pids.max && cut -d ' ' -f 1 cpu.max`

/** Null without a user manager that can limit memory and processes. */
export async function openScopes(
  name: string,
  options: { systemdRun?: string | null; uid?: number; root?: string } = {},
): Promise<Cgroups | null> {
  const { systemdRun = findProgram('systemd-run'), uid = process.getuid?.() ?? 0, root = '/sys/fs/cgroup' } = options
  // Root uses control groups directly.
  if (systemdRun === null || uid === 0) return null
  const environment = ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'].flatMap((key) =>
    process.env[key] === undefined ? [] : [`${key}=${process.env[key]}`],
  )
  const prefix = (sandboxId: string, limits: SandboxLimits) => [
    // The launcher's environment has none of these; bubblewrap clears them again.
    ...['env', ...environment, systemdRun, '--user', '--scope', '--quiet', '--collect'],
    ...[`--unit=${name}-${sandboxId}`, ...propertiesOf(limits).flatMap((property) => ['-p', property]), '--'],
  ]
  const missing = await missingIn(prefix(`try-${process.pid}`, tried))
  if (missing === null) return null
  const events = new Map<string, string>()
  return {
    kind: 'scope',
    missing,
    prefix,
    create: async () => [],
    // A scope ends with its last process, so this reads its counters while the sandbox runs.
    async memoryTrouble(sandboxId) {
      const at = events.get(sandboxId) ?? (await scopeOf(`${name}-${sandboxId}.scope`))
      if (at === null) return null
      events.set(sandboxId, at)
      return eventsTrouble(`${root}${at}/memory.events`)
    },
    remove: async (sandboxId) => void events.delete(sandboxId),
    list: async () => [],
  }
}

function propertiesOf(limits: SandboxLimits): string[] {
  return [
    `MemoryMax=${memoryBytes(limits)}`,
    'MemorySwapMax=0',
    `TasksMax=${limits.processesMax}`,
    `CPUQuota=${Math.max(1, Math.round(limits.cpuMax * 100))}%`,
  ]
}

async function missingIn(prefix: string[]): Promise<MissingLimit[] | null> {
  const [program = '', ...args] = prefix
  try {
    const { stdout } = await run(program, [...args, '/bin/sh', '-c', lookScript], { timeout: tryMs })
    const [memory, processes, cpu] = stdout.trim().split('\n')
    if (memory !== String(memoryBytes(tried)) || processes !== String(tried.processesMax)) return null
    return cpu === '100000' ? [] : ['cpu']
  } catch {
    // No user manager, or one that cannot limit anything.
    return null
  }
}

async function scopeOf(unit: string): Promise<string | null> {
  const args = ['--user', 'show', '--property=ControlGroup', '--value', unit]
  const { stdout } = await run('systemctl', args, { timeout: tryMs }).catch(() => ({ stdout: '' }))
  return stdout.trim() === '' ? null : stdout.trim()
}
