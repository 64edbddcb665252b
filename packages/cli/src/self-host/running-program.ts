/** Reads from the kernel the program and the settings of a server's process, and finds the process that manages it. */
import { folderLockName } from '@svc/contract/daemon/owner-socket'
import { existsSync, type Stats } from 'node:fs'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { serverCommand } from './launch.ts'
import { type ServerState, statOf } from './state.ts'

export interface RunningProgram {
  command: [string, ...string[]]
  env: Record<string, string>
  /** Whether it is this program, at this path. */
  isThisOne: boolean
  /** Whether its file is where it was, so that the command starts it again. */
  isInPlace: boolean
}

/** Null when this user may not look at the process, or this system has no /proc. */
export async function programOf(pid: number): Promise<RunningProgram | null> {
  const read = async (name: string) => (await readFile(`/proc/${pid}/${name}`, 'utf8')).split('\0').slice(0, -1)
  try {
    const [command, environ] = await Promise.all([read('cmdline'), read('environ')])
    const [name = '', ...args] = command
    const [mine, ...myArgs] = serverCommand()
    const file = `/proc/${pid}/exe`
    // A shell that found it in the PATH started it by its name alone.
    const program = isAbsolute(name) ? name : (await readlink(file)).replace(/ \(deleted\)$/, '')
    return {
      command: [program, ...args],
      env: Object.fromEntries(environ.map((line) => splitAt(line, line.indexOf('=')))),
      // From source, the program may be the same and its files others.
      isThisOne: myArgs.length === 1 && program === mine && (await isSameFile(file, mine)),
      isInPlace: await isSameFile(file, program),
    }
  } catch {
    return null
  }
}

const splitAt = (line: string, at: number): [string, string] => [line.slice(0, at), line.slice(at + 1)]

/** A build that replaces a file gives the path another inode. */
async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([stat(one), statOrNull(other)])
  return b !== null && isSame(a, b)
}

const isSame = (a: Stats, b: Stats) => a.dev === b.dev && a.ino === b.ino
const statOrNull = (path: string) => stat(path).catch(() => null)

/** False: another process has its number here, or none, since the server is in a pid namespace of its own, as in a container. */
export async function isHere({ pid, data_dir: dataDir }: Pick<ServerState, 'pid' | 'data_dir'>): Promise<boolean> {
  if (!existsSync('/proc/self')) return true
  const [holder, lock] = await Promise.all([statOrNull(`/proc/${pid}`), statOrNull(join(dataDir, folderLockName))])
  if (holder === null || lock === null) return holder !== null
  const fds = `/proc/${pid}/fd`
  const names = await readdir(fds).catch(mayNotLook)
  if (names === null) return holder.uid === lock.uid
  for (const name of names) {
    const opened = await statOrNull(join(fds, name))
    if (opened !== null && isSame(opened, lock)) return true
  }
  return false
}

/** The process belongs to another user. */
function mayNotLook(): null {
  return null
}

type Keeper = { kind: 'systemd'; unit: string } | { kind: 'terminal' } | { kind: 'unknown' }

/** Finds the manager of a server that `svc self-host start` did not start. */
export async function keeperOf(pid: number, env: Readonly<Record<string, string>>): Promise<Keeper> {
  const [, parent, , , terminal] = await statOf(pid)
  const parentName = await readFile(`/proc/${parent}/comm`, 'utf8').catch(() => '')
  if (env.INVOCATION_ID !== undefined && parentName.trim() === 'systemd') {
    const group = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    return { kind: 'systemd', unit: /([^/\n]+\.service)(?:\/[^/\n]*)?$/m.exec(group)?.[1] ?? 'a service' }
  }
  return Number(terminal) > 0 ? { kind: 'terminal' } : { kind: 'unknown' }
}
