/** What the server and everything it started use, looked at many times a second. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Watch {
  /** Bytes of the server and its children together, without files that are only mapped. */
  peakBytes: number
  baseBytes: number
  /** Every program that was seen running below the server. */
  programs: Set<string>
  restart(): void
  stop(): void
}

export function watch(pidOf: () => number): Watch {
  const state: Watch = { peakBytes: 0, baseBytes: 0, programs: new Set(), restart, stop: () => clearInterval(timer) }
  function restart() {
    state.baseBytes = look()
    state.peakBytes = state.baseBytes
  }
  function look(): number {
    const known = processes()
    let bytes = 0
    const open = [pidOf()]
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      const one = known.get(pid)
      if (one === undefined) continue
      bytes += anonymousBytes(pid)
      if (pid !== pidOf()) state.programs.add(one.name)
      for (const [child, { parent }] of known) if (parent === pid) open.push(child)
    }
    return bytes
  }
  const timer = setInterval(() => {
    state.peakBytes = Math.max(state.peakBytes, look())
  }, 40)
  restart()
  return state
}

function processes(): Map<number, { parent: number; name: string }> {
  const found = new Map<number, { parent: number; name: string }>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const status = read(`/proc/${entry}/stat`)
    const end = status.lastIndexOf(')')
    if (end < 0) continue
    const parent = Number(status.slice(end + 2).split(' ')[1])
    found.set(Number(entry), { parent, name: status.slice(status.indexOf('(') + 1, end) })
  }
  return found
}

function anonymousBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It ended while we looked.
    return ''
  }
}
