/**
 * Freezes the agent runtime while it is idle, so that a waiting session takes no processor time, and later stops it, so
 * that it takes no memory. Any use wakes it. The process group is frozen by a signal, which works with every driver
 * (docs/decisions/0045-an-idle-runtime-sleeps.md).
 */
import { killGroup } from '../child.ts'
import { isListening, otherProcesses, type SandboxProcess } from './processes.ts'

/** Looks this often in the time after which an idle runtime freezes, so that a turn that just ended counts as use. */
const looksPerFreeze = 4
/** An event stream that cannot continue in this time ends, and its reader connects again. */
const reopenMs = 5_000

export function createSleep(options: {
  /** Null: the runtime never freezes. */
  freezeMs: number | null
  /** The frozen runtime stops after this time; null for never. */
  stopMs: () => number | null
  stop: () => Promise<void>
  /** Resolves when the runtime answers or has failed. */
  start: () => Promise<void>
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
  let stopped: { since: number; ended: Promise<void> } | null = null
  let waking: Promise<void> | null = null
  /** Continue the event streams that stayed open while the runtime was stopped. */
  const streams = new Set<() => Promise<void>>()

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
    const now = { pid, since: performance.now() }
    frozen = now
    options.log('the idle agent runtime is frozen')
    const stopMs = options.stopMs()
    if (stopMs !== null) setTimeout(() => frozenNow() === now && end(now.since), stopMs).unref()
  }

  function end(since: number): void {
    frozen = null
    options.log('the idle agent runtime is stopped')
    // Set before the runtime ends, so that its event streams stay open.
    stopped = { since, ended: Promise.resolve() }
    stopped.ended = options.stop()
  }

  async function wake({ ended }: { ended: Promise<void> }): Promise<void> {
    await ended
    await options.start()
    // Before the request that woke the runtime passes, so that no event of its work is missed.
    const open = [...streams].map((reopen) => reopen())
    streams.clear()
    await Promise.race([Promise.all(open), Bun.sleep(reopenMs)])
    stopped = null
    waking = null
  }

  /** Returns what ends this use. */
  function began(): () => void {
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
  }

  function thaw(): void {
    const now = frozenNow()
    frozen = null
    if (now !== null) killGroup(now.pid, 'SIGCONT')
  }

  return {
    /** How long the runtime has been frozen or stopped; null when it runs. */
    get asleepMs(): number | null {
      const now = stopped ?? frozenNow()
      return now === null ? null : Math.round(performance.now() - now.since)
    },
    /** Wakes the runtime and keeps it running until the returned function is called. */
    async use(): Promise<() => void> {
      const done = began()
      if (stopped !== null) await (waking ??= wake(stopped))
      return done
    },
    /**
     * The same for a request to a program on a port, which may be a helper. Nothing but helpers runs beside a frozen
     * runtime, and none beside a stopped one.
     */
    usePort(port: number): () => void {
      const isNotNeeded = stopped !== null || (frozenNow() !== null && !isListening(port))
      return isNotNeeded ? () => {} : began()
    },
    /** Keeps an event stream of a stopped runtime for the next one; null when the runtime ended in another way. */
    hold(reopen: () => Promise<void>): (() => void) | null {
      if (stopped === null) return null
      streams.add(reopen)
      return () => void streams.delete(reopen)
    },
    /** The runtime answers for the first time after a start. */
    started(): void {
      quietSince = performance.now()
      lookSoon()
    },
  }
}
