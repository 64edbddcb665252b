/** Memory and processor time of processes. */
import { readdirSync } from 'node:fs'
import { procFile, runningProcesses } from '../../test/processes.ts'
import { below } from '../../test/torture/sandbox-leaks.ts'

export interface Measured {
  pid: number
  name: string
}

/** Every process that this server started, in its sandboxes and outside, without the database. */
export function startedProcesses(serverPid: number): Measured[] {
  const names = runningProcesses()
  return below(serverPid).flatMap(({ pid }) => {
    const name = names.get(pid)?.name
    return name === undefined || name.startsWith('postgres') ? [] : [{ pid, name }]
  })
}

/** Proportional set size: shared pages are divided by the number of sharers. */
export function bytesOf(processes: Pick<Measured, 'pid'>[]): number {
  const kilobytes = ({ pid }: Pick<Measured, 'pid'>) =>
    Number(/^Pss:\s+(\d+)/m.exec(procFile(pid, 'smaps_rollup'))?.[1] ?? 0)
  return processes.reduce((sum, each) => sum + kilobytes(each), 0) * 1024
}

/** Processor time so far by thread, in milliseconds. */
export type ProcessorTimes = Map<string, number>

/** The scheduler counts each nanosecond. Ticks miss what ends between two of them, and charge a whole one for what runs at one. */
export const processorClock =
  Number(procFile(process.pid, 'schedstat').split(' ')[0]) > 0 ? 'by the scheduler' : 'in ticks of 10 ms'

export function processorTimesOf(processes: Pick<Measured, 'pid'>[]): ProcessorTimes {
  const each = processorClock === 'by the scheduler' ? threadTimes : tickTimes
  return new Map(processes.flatMap(({ pid }) => each(pid)))
}

/** A thread that began meanwhile counts whole; one that ended counts nothing. */
export function processorMsBetween(before: ProcessorTimes, after: ProcessorTimes): number {
  return [...after].reduce((sum, [thread, ms]) => sum + ms - (before.get(thread) ?? 0), 0)
}

/** The file of a process has the time of its first thread only. */
function threadTimes(pid: number): [string, number][] {
  return threadsOf(pid).flatMap((thread) => {
    const [nanoseconds] = procFile(pid, `task/${thread}/schedstat`).split(' ')
    return nanoseconds ? [[thread, Number(nanoseconds) / 1e6]] : []
  })
}

function tickTimes(pid: number): [string, number][] {
  const stat = procFile(pid, 'stat')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return stat === '' ? [] : [[String(pid), (Number(fields[11]) + Number(fields[12])) * 10]]
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    // The process ended meanwhile.
    return []
  }
}

/** Processor time so far, in milliseconds, of a process and of all below it, those that ended included. */
export function processorMsOf(pid: number): number {
  const children = [...runningProcesses()].filter(([, { parent }]) => parent === pid).map(([child]) => child)
  const stat = procFile(pid, 'stat')
  if (stat === '') return 0
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0)
  return children.reduce((sum, child) => sum + processorMsOf(child), ticks * 10)
}
