/** Memory and processor time of processes. */
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

/** In milliseconds. The kernel counts in hundredths of a second. */
export function processorMsOf(processes: Pick<Measured, 'pid'>[]): number {
  const ticks = ({ pid }: Pick<Measured, 'pid'>) => {
    const stat = procFile(pid, 'stat')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
  }
  return processes.reduce((sum, each) => sum + ticks(each), 0) * 10
}
