/** Memory, handles and threads of a server and of everything that it started, by kind of process. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { ignoreEnded } from '../../ignored.ts'
import { procFile } from '../../processes.ts'
import { below, type Process, processes, processesInSandboxes } from '../sandbox-leaks.ts'
import { victimKinds } from '../sandbox-victims.ts'
import type { TortureServer } from '../server.ts'

export interface KindFigures {
  count: number
  /** Of all of them together, and of the largest. */
  memoryMb: number
  memoryMaxMb: number
  handles: number
  handlesMax: number
  threads: number
}

export interface ProcessFigures {
  kinds: Record<string, KindFigures>
  /** Daemons that run for longer than anything that is replaced: their number, and the figures of the median one. */
  old: { count: number; memoryMb: number; handles: number }
  zombies: number
  total: number
  /** What the server has open, by kind of file. */
  open: Record<string, number>
  inSandboxes: Process[]
}

const kindsOf: [string, RegExp][] = [
  ['backup', /server --backup/],
  ['PostgreSQL', /postgres/],
  ['sandbox driver', victimKinds.driver!],
  ['first process', victimKinds['process 1']!],
  ['agent runtime', victimKinds.runtime!],
  ['daemon', victimKinds.daemon!],
  ['git', /(^|\/)git(-\S+)?( |$)/],
]

const pageBytes = 4096
const mb = 1024 * 1024
/** Of the clock in /proc/<pid>/stat. */
const ticksPerSecond = 100

/** `oldMs`: how long a daemon has to run to be an old one. */
export function readProcesses(server: TortureServer, oldMs: number): ProcessFigures {
  const inSandboxes = processesInSandboxes(server.dataDir)
  const all = new Map(inSandboxes.map((each) => [each.pid, each]))
  const list = processes()
  for (const each of below(server.pid, list)) all.set(each.pid, each)
  const kinds: Record<string, KindFigures> = {}
  addTo(kinds, 'server', server.pid)
  const old: { memoryMb: number; handles: number }[] = []
  let zombies = 0
  const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
  for (const { pid, command } of all.values()) {
    const stat = procFile(pid, 'stat')
    if (stat === '') continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z') zombies++
    const kind = kindsOf.find(([, pattern]) => pattern.test(command))?.[0] ?? 'other'
    const own = addTo(kinds, kind, pid)
    const ageMs = (uptime - Number(fields[19]) / ticksPerSecond) * 1_000
    if (kind === 'daemon' && ageMs > oldMs) old.push(own)
  }
  const middle = old.toSorted((a, b) => a.memoryMb - b.memoryMb)[old.length >> 1]
  return {
    kinds,
    old: { count: old.length, memoryMb: middle?.memoryMb ?? 0, handles: middle?.handles ?? 0 },
    zombies,
    total: all.size + 1,
    open: openFiles(server.pid),
    inSandboxes,
  }
}

function addTo(kinds: Record<string, KindFigures>, kind: string, pid: number): { memoryMb: number; handles: number } {
  const figures = (kinds[kind] ??= { count: 0, memoryMb: 0, memoryMaxMb: 0, handles: 0, handlesMax: 0, threads: 0 })
  const own = ownFigures(pid)
  figures.count++
  figures.memoryMb += own.memoryMb
  figures.memoryMaxMb = Math.max(figures.memoryMaxMb, own.memoryMb)
  figures.handles += own.handles
  figures.handlesMax = Math.max(figures.handlesMax, own.handles)
  figures.threads += own.threads
  return own
}

/** Of one process; nothing when it has ended. */
export function ownFigures(pid: number): { memoryMb: number; handles: number; threads: number } {
  const memoryMb = (Number(procFile(pid, 'statm').split(' ')[1] ?? 0) * pageBytes) / mb
  const threads = Number(/^Threads:\s+(\d+)/m.exec(procFile(pid, 'status'))?.[1] ?? 0)
  return { memoryMb, handles: handlesOf(pid).length, threads }
}

function handlesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    ignoreEnded()
    return []
  }
}

function openFiles(pid: number): Record<string, number> {
  const open: Record<string, number> = {}
  for (const handle of handlesOf(pid)) {
    const kind = kindOfFile(pid, handle)
    open[kind] = (open[kind] ?? 0) + 1
  }
  return open
}

function kindOfFile(pid: number, handle: string): string {
  try {
    const target = readlinkSync(`/proc/${pid}/fd/${handle}`)
    return /^(socket|pipe|anon_inode:\[?\w+)/.exec(target)?.[0] ?? 'file'
  } catch {
    ignoreEnded()
    return 'closed'
  }
}
