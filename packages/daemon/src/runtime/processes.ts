/** The processes of the sandbox, as /proc shows them. */
import { readdirSync, readFileSync } from 'node:fs'

export interface SandboxProcess {
  pid: number
  parent: number
  group: number
  /** The process that leads its session, such as the shell of a terminal, whose jobs have groups of their own. */
  session: number
}

/** Without zombies, which run nothing. */
export function sandboxProcesses(): SandboxProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? readStat(name) : null
    // The name of the program is in parentheses and may contain anything.
    const [state, parent, group, session] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    if (state === undefined || state === 'Z' || state === 'X') return []
    return [{ pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session) }]
  })
}

function readStat(pid: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // The process ended meanwhile.
    return null
  }
}

/** Whether a program accepts connections on this port. The kernel lists the sockets of the sandbox's own network. */
export function isListening(port: number): boolean {
  return ['tcp', 'tcp6'].some((table) =>
    readTable(table).some((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/)
      return state === listenState && Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16) === port
    }),
  )
}

const listenState = '0A'

function readTable(name: string): string[] {
  try {
    return readFileSync(`/proc/net/${name}`, 'utf8').split('\n').slice(1)
  } catch {
    // A kernel without IPv6 has only one of the tables.
    return []
  }
}

/**
 * Processes other than the runtime, its helpers, the daemon and what started the daemon. Helpers are language and tool
 * servers, which the runtime starts in its own process group. Commands of the agent get groups of their own, and what
 * outlives its parent is no helper.
 */
export function otherProcesses<P extends Omit<SandboxProcess, 'session'>>(
  all: P[],
  own: { daemonPid: number; runtimePid: number },
): P[] {
  const byPid = new Map(all.map((each) => [each.pid, each]))
  const above = (pid: number): number[] => {
    const chain: number[] = []
    for (let at = byPid.get(pid); at !== undefined && !chain.includes(at.pid); at = byPid.get(at.parent))
      chain.push(at.pid)
    return chain
  }
  const starters = new Set(above(own.daemonPid))
  return all.filter(
    ({ pid, group }) => !starters.has(pid) && !(group === own.runtimePid && above(pid).includes(own.runtimePid)),
  )
}
