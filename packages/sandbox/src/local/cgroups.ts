/**
 * Limits of a sandbox by control groups: version 2, version 1, or neither. One group per driver (with a ceiling, so
 * that all sandboxes together leave the machine room to live), below it one group per sandbox.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { basename, join } from 'node:path'

import type { MissingLimit, SandboxLimits } from '../driver.ts'
import { openScopes } from './scopes.ts'

/** Its own limit, or the one of all sandboxes together. */
export type MemoryTrouble = 'own' | 'shared'

export interface Cgroups {
  /** `scope`: groups of systemd's user manager, by systemd-run. */
  readonly kind: 'v2' | 'v1' | 'scope' | 'none'
  /** Makes the group and answers the files a process writes "0" to in order to enter it. */
  create(sandboxId: string, limits: SandboxLimits): Promise<string[]>
  /** What the version below it cannot limit. */
  readonly missing: MissingLimit[]
  /** Words to put before the program that starts a sandbox. */
  prefix(sandboxId: string, limits: SandboxLimits): string[]
  /** Whose limit it was when the kernel killed for want of memory in it; null when it did not. */
  memoryTrouble(sandboxId: string): Promise<MemoryTrouble | null>
  /** Kills what is in it and removes it. Nothing to do is success. */
  remove(sandboxId: string): Promise<void>
  /** Groups that exist, left-overs included. */
  list(): Promise<string[]>
}

const needed = ['memory', 'pids', 'cpu'] as const
type Controller = (typeof needed)[number]

/** What the two versions do differently. */
interface Hierarchy {
  kind: 'v2' | 'v1'
  /** The driver's own groups, one per mounted hierarchy. */
  parents: string[]
  missing: MissingLimit[]
  create(sandboxId: string, limits: SandboxLimits): Promise<string[]>
  memoryTrouble(sandboxId: string): Promise<MemoryTrouble | null>
}

/**
 * `record` remembers where groups were made: a server that is started again may itself be in another group, and then
 * looks elsewhere for what it left.
 */
export async function openCgroups(name: string, record: string, procSelf = '/proc/self'): Promise<Cgroups> {
  const mounts = parseMounts(await readFile(join(procSelf, 'mountinfo'), 'utf8').catch(() => ''))
  const own = parseOwn(await readFile(join(procSelf, 'cgroup'), 'utf8').catch(() => ''))
  const hierarchy = (await openV1(name, mounts, own)) ?? (await openV2(name, mounts, own))
  if (hierarchy === null) return (await openScopes(name)) ?? none
  const former = (await readRecord(record)).filter((path) => basename(path) === name)
  const parents = [...new Set([...hierarchy.parents, ...former])]
  const inTurn = createTurns()
  await removeEmpty(parents)
  return {
    kind: hierarchy.kind,
    missing: hierarchy.missing,
    prefix: () => [],
    memoryTrouble: hierarchy.memoryTrouble,
    list: () => listGroups(parents),
    // In turn with the tidying below, which would take a parent away under a group that is just being made.
    create: (sandboxId, limits) =>
      inTurn(async () => {
        await writeFile(record, JSON.stringify(parents))
        return hierarchy.create(sandboxId, limits)
      }),
    async remove(sandboxId) {
      for (const parent of parents) await removeGroup(join(parent, sandboxId))
      await inTurn(() => removeEmpty(parents))
    },
  }
}

const none: Cgroups = {
  kind: 'none',
  missing: ['memory', 'cpu'],
  create: async () => [],
  prefix: gentlePrefix,
  memoryTrouble: async () => null,
  remove: async () => {},
  list: async () => [],
}

/**
 * Without groups: the others of the machine come first at the processor, and the kernel ends what is in a sandbox before
 * anything else. No limit of a process helps: runtimes with a compiler reserve many times what they use, and end at once.
 */
function gentlePrefix(): string[] {
  const script = 'echo 800 > /proc/self/oom_score_adj; exec "$@"'
  return ['nice', '-n', '10', '/bin/sh', '-c', script, 'svc-gentle']
}

async function readRecord(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '[]')
  try {
    const paths = JSON.parse(text) as unknown
    return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []
  } catch {
    // Cut short by a crash: the groups of this start are known without it.
    return []
  }
}

function createTurns(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const mine = last.then(act)
    last = mine.catch(() => {})
    return mine
  }
}

/** The share of the machine's memory that all sandboxes together may take. */
const ceilingBytes = Math.floor(totalmem() * 0.85)

/** The work tree lives in memory (see arrangement.ts), so what it may hold is added to what the programs may take. */
export const memoryBytes = (limits: SandboxLimits) => limits.memoryBytesMax + limits.diskBytesMax

// ---------------------------------------------------------------- version 1

async function openV1(name: string, mounts: Mount[], own: Map<string, string>): Promise<Hierarchy | null> {
  const parents = new Map<Controller, string>()
  for (const controller of needed) {
    const mount = mounts.find((m) => m.type === 'cgroup' && m.options.includes(controller))
    if (mount === undefined) continue
    const folder = join(mount.path, below(mount.root, own.get(controller) ?? '/'), name)
    if (await made(folder)) parents.set(controller, folder)
  }
  // Memory and processes are what one sandbox can take from all others; without cpu it is only slow.
  const memory = parents.get('memory')
  if (memory === undefined || !parents.has('pids')) return null
  // Made again for each sandbox: it goes with the last one.
  const prepare = async () => {
    for (const parent of parents.values()) await mkdir(parent, { recursive: true })
    await set(join(memory, 'memory.limit_in_bytes'), ceilingBytes)
  }

  const folders = (sandboxId: string) => [...parents.values()].map((parent) => join(parent, sandboxId))
  return {
    kind: 'v1',
    missing: parents.has('cpu') ? [] : ['cpu'],
    parents: [...parents.values()],
    async create(sandboxId, limits) {
      await prepare()
      for (const folder of folders(sandboxId)) await mkdir(folder, { recursive: true })
      const at = (controller: Controller, file: string) => {
        const parent = parents.get(controller)
        return parent === undefined ? null : join(parent, sandboxId, file)
      }
      await set(at('memory', 'memory.limit_in_bytes'), memoryBytes(limits))
      // Absent where swap is not accounted.
      await set(at('memory', 'memory.memsw.limit_in_bytes'), memoryBytes(limits)).catch(() => {})
      await set(at('pids', 'pids.max'), limits.processesMax)
      await set(at('cpu', 'cpu.cfs_period_us'), 100_000)
      await set(at('cpu', 'cpu.cfs_quota_us'), Math.max(1000, Math.round(limits.cpuMax * 100_000)))
      return folders(sandboxId).map((folder) => join(folder, 'cgroup.procs'))
    },
    async memoryTrouble(sandboxId) {
      // Version 1 does not count whose limit it was.
      return (await counter(join(memory, sandboxId, 'memory.oom_control'), 'oom_kill')) > 0 ? 'own' : null
    },
  }
}

// ---------------------------------------------------------------- version 2

async function openV2(name: string, mounts: Mount[], own: Map<string, string>): Promise<Hierarchy | null> {
  const mount = mounts.find((m) => m.type === 'cgroup2')
  if (mount === undefined) return null
  // A group that holds processes cannot give controllers to groups below it, and our own holds at least us. So: the
  // nearest one above that can, and where we may make a folder.
  let path = below(mount.root, own.get('') ?? '/')
  for (;;) {
    const parent = join(mount.path, path, name)
    if (await usableV2(join(mount.path, path), parent)) return v2(parent, await controllersBelow(parent))
    if (path === '/' || path === '.') return null
    path = join(path, '..')
  }
}

async function usableV2(above: string, parent: string): Promise<boolean> {
  await enable(above)
  if (!(await made(parent))) return false
  if (!(await enable(parent))) {
    await rmdir(parent).catch(() => {})
    return false
  }
  return true
}

async function enable(folder: string): Promise<boolean> {
  // One by one: a machine without the cpu controller still has the two that matter.
  for (const controller of needed)
    await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`).catch(() => {})
  const words = await controllersBelow(folder)
  return words.includes('memory') && words.includes('pids')
}

async function controllersBelow(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'cgroup.subtree_control'), 'utf8').catch(() => '')
  return text.trim().split(/\s+/)
}

function v2(parent: string, controllers: string[]): Hierarchy {
  return {
    kind: 'v2',
    missing: controllers.includes('cpu') ? [] : ['cpu'],
    parents: [parent],
    async create(sandboxId, limits) {
      // Made again for each sandbox: it goes with the last one.
      await mkdir(parent, { recursive: true })
      await enable(parent)
      await set(join(parent, 'memory.max'), ceilingBytes)
      const folder = join(parent, sandboxId)
      await mkdir(folder, { recursive: true })
      await set(join(folder, 'memory.max'), memoryBytes(limits))
      // Absent where swap is not accounted.
      await set(join(folder, 'memory.swap.max'), 0).catch(() => {})
      await set(join(folder, 'pids.max'), limits.processesMax)
      await set(join(folder, 'cpu.max'), `${Math.max(1000, Math.round(limits.cpuMax * 100_000))} 100000`).catch(
        () => {},
      )
      return [join(folder, 'cgroup.procs')]
    },
    memoryTrouble: (sandboxId) => eventsTrouble(join(parent, sandboxId, 'memory.events')),
  }
}

// ---------------------------------------------------------------- both

async function removeGroup(folder: string): Promise<void> {
  const deadline = Date.now() + 5000
  for (;;) {
    // Version 2 kills in one write. Version 1 has no such file: then one by one, until none is left to fork.
    if (await written(join(folder, 'cgroup.kill'), '1')) await yieldToKernel()
    else for (const pid of await processes(folder)) killProcess(pid)
    const outcome = await rmdir(folder).then(
      () => 'gone',
      (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
    )
    if (outcome === 'gone' || outcome === 'ENOENT') return
    // EBUSY while the dead are still being taken away.
    if (outcome !== 'EBUSY') throw new Error(`The control group ${folder} could not be removed: ${outcome}.`)
    if (Date.now() > deadline) throw new Error(`The control group ${folder} still has processes after 5 s.`)
    await yieldToKernel()
  }
}

/** Only an empty group can be removed, so the ones in use stay. */
async function removeEmpty(parents: string[]): Promise<void> {
  for (const parent of parents) await rmdir(parent).catch(() => {})
}

async function processes(folder: string): Promise<number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

function killProcess(pid: number): void {
  // 0 stands for a process of another pid namespace, and would be our own process group.
  if (pid <= 1) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // ESRCH: it was faster.
  }
}

const yieldToKernel = () => new Promise<void>((resolve) => setTimeout(resolve, 2))

async function listGroups(parents: string[]): Promise<string[]> {
  const names = new Set<string>()
  for (const parent of parents) {
    for (const entry of await readdir(parent, { withFileTypes: true }).catch(() => [])) {
      if (entry.isDirectory()) names.add(entry.name)
    }
  }
  return [...names]
}

/** Of version 2: `oom` counts only where this group's own limit was reached. */
export async function eventsTrouble(file: string): Promise<MemoryTrouble | null> {
  if ((await counter(file, 'oom_kill')) === 0) return null
  return (await counter(file, 'oom')) > 0 ? 'own' : 'shared'
}

async function counter(file: string, name: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

async function set(file: string | null, value: number | string): Promise<void> {
  if (file !== null) await writeFile(file, String(value))
}

/** Writes into a file that must already exist: an ordinary create would hide that the kernel does not have it. */
async function written(file: string, value: string): Promise<boolean> {
  return writeFile(file, value, { flag: 'r+' }).then(
    () => true,
    () => false,
  )
}

async function made(folder: string): Promise<boolean> {
  return mkdir(folder, { recursive: true }).then(
    () => true,
    () => false,
  )
}

interface Mount {
  root: string
  path: string
  type: string
  options: string[]
}

function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ')
      const [type = '', , options = ''] = after.split(' ')
      const words = before.split(' ')
      return { root: words[3] ?? '/', path: words[4] ?? '/', type, options: options.split(',') }
    })
}

/** Controller to the path of our own group; version 2 under the empty name. */
function parseOwn(text: string): Map<string, string> {
  const own = new Map<string, string>()
  for (const line of text.split('\n').filter(Boolean)) {
    const [, controllers = '', ...path] = line.split(':')
    for (const controller of controllers.split(',')) own.set(controller, path.join(':'))
  }
  return own
}

/** A group's path as seen through a mount that may show only part of the tree, as inside a container. */
function below(root: string, path: string): string {
  if (root === '/') return path
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) || '/' : '/'
}
