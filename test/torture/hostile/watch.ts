/** Samples the memory and programs of the server and its children many times a second. */
import { procFile, runningProcesses } from '../../processes.ts'

export interface Watch {
  /** Bytes of the server and its children together, without file mappings. */
  peakBytes: number
  baseBytes: number
  /** The processes that used it, largest first, with the command unless it is the server. */
  peakUsers: { name: string; bytes: number }[]
  /** Every program that ran below the server. */
  programs: Set<string>
  restart(): void
  stop(): void
}

export function watch(pidOf: () => number): Watch {
  const state: Watch = {
    ...{ peakBytes: 0, baseBytes: 0, peakUsers: [], programs: new Set() },
    restart,
    stop: () => clearInterval(timer),
  }
  function restart() {
    state.peakBytes = 0
    state.baseBytes = look()
  }
  function look(): number {
    const known = runningProcesses()
    const users: Watch['peakUsers'] = []
    let bytes = 0
    const open = [pidOf()]
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      const one = known.get(pid)
      if (one === undefined) continue
      const own = anonymousBytes(pid)
      bytes += own
      users.push({ name: pid === pidOf() ? 'server' : commandOf(pid, one.name), bytes: own })
      if (pid !== pidOf()) state.programs.add(one.name)
      for (const [child, { parent }] of known) if (parent === pid) open.push(child)
    }
    if (bytes > state.peakBytes) {
      state.peakBytes = bytes
      state.peakUsers = users.toSorted((a, b) => b.bytes - a.bytes)
    }
    return bytes
  }
  const timer = setInterval(look, 40)
  restart()
  return state
}

/** `git index-pack`, out of all arguments. */
function commandOf(pid: number, name: string): string {
  const words = procFile(pid, 'cmdline').split('\0')
  const at = words.findIndex((word) => /(^|\/)git$/.test(word))
  const verb = words.slice(at + 1).find((word) => !word.startsWith('-'))
  return at === -1 || verb === undefined ? name : `git ${verb}`
}

function anonymousBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(procFile(pid, 'status'))?.[1] ?? 0) * 1024
}
