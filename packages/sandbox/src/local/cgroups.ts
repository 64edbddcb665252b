/**
 * Limits sandboxes by control groups: version 2, version 1, or neither. Each driver has one group with a ceiling,
 * which reserves memory for the rest of the machine, and below it one group per sandbox.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { basename, join } from 'node:path'

import type { MissingLimit, SandboxLimits } from '../driver.ts'
import { type Cgroups, counter, eventsTrouble, memoryBytes, type MemoryTrouble } from './cgroup.ts'
import { openScopes } from './scopes.ts'

const needed = ['memory', 'pids', 'cpu'] as const
type Controller = (typeof needed)[number]

/** The parts that differ between the two versions. */
interface Hierarchy {
  kind: 'v2' | 'v1'
  /** The driver's own groups, one per mounted hierarchy. */
  parents: string[]
  missing: MissingLimit[]
  create(sandboxId: string, limits: SandboxLimits): Promise<string[]>
  memoryTrouble(sandboxId: string): Promise<MemoryTrouble | null>
}

/** `record` is a file with the groups' folders: a restarted server may be in another group itself. */
export async function openCgroups(name: string, record: string, procSelf = '/proc/self'): Promise<Cgroups> {
  const mounts = parseMounts(await readFile(join(procSelf, 'mountinfo'), 'utf8').catch(() => ''))
  const own = parseOwn(await readFile(join(procSelf, 'cgroup'), 'utf8').catch(() => ''))
  const hierarchy = (await openV1(name, mounts, own)) ?? (await openV2(name, mounts, own))
  if (hierarchy === null) return (await openScopes(name)) ?? none
  const former = (await readRecord(record)).filter((path) => basename(path) === name)
  const parents = [...new Set([...hierarchy.parents, ...former])]
  const serially = oneAtATime()
  await removeEmpty(parents)
  return {
    kind: hierarchy.kind,
    missing: hierarchy.missing,
    prefix: () => [],
    memoryTrouble: hierarchy.memoryTrouble,
    list: () => listGroups(parents),
    // Serialized with the cleanup below, which could remove the parent while a group is being created.
    create: (sandboxId, limits) =>
      serially(async () => {
        await writeFile(record, JSON.stringify(parents))
        return hierarchy.create(sandboxId, limits)
      }),
    async remove(sandboxId) {
      for (const parent of parents) await removeGroup(join(parent, sandboxId))
      await serially(() => removeEmpty(parents))
    },
  }
}

/** The kernel lacks the file or the group, which limits less or was removed already. */
function ignoreAbsent(): void {}

/** The error reaches the caller by another way. */
export function reportedToCaller(): void {}

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
 * Without groups: sandboxes yield the CPU to other programs, and the kernel kills their processes first when memory
 * is short. A process limit does not work: runtimes with a compiler reserve many times the memory they use.
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
    // Truncated by a crash; the groups of this start are known without it.
    return []
  }
}

/** Runs calls one after the other; a failed call does not stop later ones. */
function oneAtATime(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const mine = last.then(act)
    last = mine.catch(reportedToCaller)
    return mine
  }
}

/** The share of the machine's memory that all sandboxes together may use. */
const ceilingBytes = Math.floor(totalmem() * 0.85)

// ---------------------------------------------------------------- version 1

async function openV1(name: string, mounts: Mount[], own: Map<string, string>): Promise<Hierarchy | null> {
  const parents = new Map<Controller, string>()
  for (const controller of needed) {
    const mount = mounts.find((m) => m.type === 'cgroup' && m.options.includes(controller))
    if (mount === undefined) continue
    const folder = join(mount.path, below(mount.root, own.get(controller) ?? '/'), name)
    if (await made(folder)) parents.set(controller, folder)
  }
  // memory and pids protect other programs, so they are required; without cpu a sandbox only slows them down.
  const memory = parents.get('memory')
  if (memory === undefined || !parents.has('pids')) return null
  // Repeated for each sandbox, since the groups are removed with the last one.
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
      // The file is absent when swap accounting is off.
      await set(at('memory', 'memory.memsw.limit_in_bytes'), memoryBytes(limits)).catch(ignoreAbsent)
      await set(at('pids', 'pids.max'), limits.processesMax)
      await set(at('cpu', 'cpu.cfs_period_us'), 100_000)
      await set(at('cpu', 'cpu.cfs_quota_us'), Math.max(1000, Math.round(limits.cpuMax * 100_000)))
      return folders(sandboxId).map((folder) => join(folder, 'cgroup.procs'))
    },
    async memoryTrouble(sandboxId) {
      // Version 1 does not record which limit was reached.
      return (await counter(join(memory, sandboxId, 'memory.oom_control'), 'oom_kill')) > 0 ? 'own' : null
    },
  }
}

// ---------------------------------------------------------------- version 2

async function openV2(name: string, mounts: Mount[], own: Map<string, string>): Promise<Hierarchy | null> {
  const mount = mounts.find((m) => m.type === 'cgroup2')
  if (mount === undefined) return null
  // A group that contains processes, as ours does, cannot delegate controllers. So find the nearest group above that
  // can, and where this server may create a folder.
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
    await rmdir(parent).catch(ignoreAbsent)
    return false
  }
  return true
}

async function enable(folder: string): Promise<boolean> {
  // One by one: a machine without the cpu controller still has the two required ones.
  for (const controller of needed)
    await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`).catch(ignoreAbsent)
  const controllers = await controllersBelow(folder)
  return controllers.includes('memory') && controllers.includes('pids')
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
      // Repeated for each sandbox, since the group is removed with the last one.
      await mkdir(parent, { recursive: true })
      await enable(parent)
      await set(join(parent, 'memory.max'), ceilingBytes)
      const folder = join(parent, sandboxId)
      await mkdir(folder, { recursive: true })
      await set(join(folder, 'memory.max'), memoryBytes(limits))
      // The file is absent when swap accounting is off.
      await set(join(folder, 'memory.swap.max'), 0).catch(ignoreAbsent)
      await set(join(folder, 'pids.max'), limits.processesMax)
      const quota = Math.max(1000, Math.round(limits.cpuMax * 100_000))
      await set(join(folder, 'cpu.max'), `${quota} 100000`).catch(ignoreAbsent)
      return [join(folder, 'cgroup.procs')]
    },
    memoryTrouble: (sandboxId) => eventsTrouble(join(parent, sandboxId, 'memory.events')),
  }
}

// ---------------------------------------------------------------- both

async function removeGroup(folder: string): Promise<void> {
  const deadline = Date.now() + 5000
  for (;;) {
    // Version 2 kills the group with one write. Version 1 has no such file, so kill the processes one by one until
    // none is left.
    if (await written(join(folder, 'cgroup.kill'), '1')) await yieldToKernel()
    else for (const pid of await processes(folder)) killProcess(pid)
    const outcome = await rmdir(folder).then(
      () => 'gone',
      (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
    )
    if (outcome === 'gone' || outcome === 'ENOENT') return
    // EBUSY while the kernel still removes dead processes.
    if (outcome !== 'EBUSY') throw new Error(`Couldn't remove the control group ${folder}: ${outcome}.`)
    if (Date.now() > deadline) throw new Error(`The control group ${folder} still has processes after 5 s.`)
    await yieldToKernel()
  }
}

/** rmdir removes only empty groups, so groups in use stay. */
async function removeEmpty(parents: string[]): Promise<void> {
  for (const parent of parents) await rmdir(parent).catch(ignoreAbsent)
}

async function processes(folder: string): Promise<number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

/** Also takes the negative number of a process group. */
export function killProcess(pid: number): void {
  // The kernel shows 0 for a process of another pid namespace; a signal to 0 would hit our own group.
  if (pid === 0 || pid === 1) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    hasEnded()
  }
}

function hasEnded(): void {}

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

async function set(file: string | null, value: number | string): Promise<void> {
  if (file !== null) await writeFile(file, String(value))
}

/** Writes only to an existing file: creating one would hide that the kernel lacks it. */
const written = (file: string, value: string) => succeeds(writeFile(file, value, { flag: 'r+' }))

const made = (folder: string) => succeeds(mkdir(folder, { recursive: true }))

const succeeds = (act: Promise<unknown>): Promise<boolean> =>
  act.then(
    () => true,
    () => false,
  )

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

/** Maps controllers to the path of our own group; version 2 has the empty name. */
function parseOwn(text: string): Map<string, string> {
  const own = new Map<string, string>()
  for (const line of text.split('\n').filter(Boolean)) {
    const [, controllers = '', ...path] = line.split(':')
    for (const controller of controllers.split(',')) own.set(controller, path.join(':'))
  }
  return own
}

/** The path of a group within a mount that may show only part of the tree, as in a container. */
function below(root: string, path: string): string {
  if (root === '/') return path
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) || '/' : '/'
}
