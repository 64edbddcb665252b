/** The processes of the machine, as /proc shows them. */
import { readdirSync, readFileSync } from 'node:fs'

/** Empty when the process ended meanwhile. */
export function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** By process id; `name` is the name of the program, without its arguments. */
export function runningProcesses(): Map<number, { parent: number; name: string }> {
  const found = new Map<number, { parent: number; name: string }>()
  for (const entry of readdirSync('/proc')) {
    const status = /^\d+$/.test(entry) ? procFile(Number(entry), 'stat') : ''
    const end = status.lastIndexOf(')')
    if (end < 0) continue
    const parent = Number(status.slice(end + 2).split(' ')[1])
    found.set(Number(entry), { parent, name: status.slice(status.indexOf('(') + 1, end) })
  }
  return found
}

/** How often the first thread of a process has slept and was woken. */
export function wakeUpsOf(pid: number): number {
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(procFile(pid, 'status'))?.[1] ?? 0)
}
