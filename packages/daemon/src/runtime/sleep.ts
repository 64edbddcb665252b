/**
 * Freezes the agent runtime while it is idle, so that a waiting session takes no processor time. Any use thaws it. The
 * process group is stopped by a signal, which works with every driver (docs/decisions/0045-an-idle-runtime-sleeps.md).
 */
import { killGroup } from '../child.ts'
import { otherProcesses, type SandboxProcess } from './processes.ts'

/** Looks this often in the time after which an idle runtime freezes, so that a turn that just ended counts as use. */
const looksPerFreeze = 4

export function createSleep(options: {
  /** Null: the runtime never freezes. */
  freezeMs: number | null
  /** The process of a runtime that answers, otherwise null. */
  pid: () => number | null
  /** Whether a turn runs; null when the runtime cannot tell, which counts as busy. */
  isBusy: () => Promise<boolean | null>
  processes: () => SandboxProcess[]
  log: (message: string) => void
}) {
  const { freezeMs } = options
  let users = 0
  let quietSince = performance.now()
  let frozen: { pid: number; since: number } | null = null
  let timer: NodeJS.Timeout | null = null

  /** A runtime that ended while it was frozen was replaced by one that runs. */
  const frozenNow = () => (frozen !== null && frozen.pid === options.pid() ? frozen : null)

  function lookSoon(): void {
    if (freezeMs === null || timer !== null || frozenNow() !== null) return
    timer = setTimeout(() => {
      timer = null
      void look(freezeMs)
    }, freezeMs / looksPerFreeze)
    timer.unref()
  }

  async function look(afterMs: number): Promise<void> {
    const pid = options.pid()
    // The runtime is starting; the next look is scheduled when it is ready.
    if (pid === null) return
    if (!isAlone(pid) || (await options.isBusy()) !== false) quietSince = performance.now()
    // A request may have arrived, and a process may have started, while the runtime answered.
    else if (performance.now() - quietSince >= afterMs && pid === options.pid() && isAlone(pid)) return freeze(pid)
    lookSoon()
  }

  function isAlone(runtimePid: number): boolean {
    return users === 0 && otherProcesses(options.processes(), { daemonPid: process.pid, runtimePid }).length === 0
  }

  function freeze(pid: number): void {
    killGroup(pid, 'SIGSTOP')
    frozen = { pid, since: performance.now() }
    options.log('the idle agent runtime is frozen')
  }

  function thaw(): void {
    const now = frozenNow()
    frozen = null
    if (now !== null) killGroup(now.pid, 'SIGCONT')
  }

  return {
    /** How long the runtime has been frozen; null when it runs. */
    get frozenMs(): number | null {
      const now = frozenNow()
      return now === null ? null : Math.round(performance.now() - now.since)
    },
    /** Thaws the runtime and keeps it running until the returned function is called. */
    use(): () => void {
      users += 1
      thaw()
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        users -= 1
        quietSince = performance.now()
        lookSoon()
      }
    },
    /** The runtime answers for the first time after a start. */
    started(): void {
      quietSince = performance.now()
      lookSoon()
    },
  }
}
