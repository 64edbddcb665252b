/** The life of a sandbox in this server: the same for every driver, whatever its sandboxes are made of. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type Sandbox, type SandboxDriver, SandboxError, type SandboxSpec } from './driver.ts'
import { createExits } from './exits.ts'
import { daemonSocketName } from './layout.ts'
import { aborted, idPattern, refuseBadSpec } from './spec.ts'

interface Machine<Own> {
  /** A folder with one folder per sandbox, in which the daemon's socket appears. */
  runRoot: string
  /** How long a daemon may take to answer for the first time. */
  bootMs: number
  pollMs: number
  log: (message: string, facts?: Record<string, unknown>) => void
  blank(spec: SandboxSpec): Own
  /** Starts the first process. */
  start(entry: Entry & Own, signal: AbortSignal): Promise<void>
  /** Ends a start that was aborted, where `remove` alone would wait for it. */
  kill?(entry: Entry & Own): void
  /** The error of a sandbox that ended before its daemon answered. */
  endedEarly(entry: Entry & Own): Error | Promise<Error>
  /** The error of a failed start for the caller. */
  explain(error: unknown, entry: Entry & Own): SandboxError
  externalId(entry: Entry & Own): string
  memoryTrouble(entry: Entry & Own): Promise<string | null>
  /** "Its last lines: …", or an empty string without output. */
  lastLines(entry: Entry & Own): string | Promise<string>
  /** Ends every process of the sandbox and removes everything of it. Called once. */
  remove(entry: Entry & Own): Promise<void>
  /** Removes what a killed server left behind, except for the folders. */
  sweep(isLive: (sandboxId: string) => boolean): Promise<void>
}

export interface Entry {
  spec: SandboxSpec
  running: boolean
  stopping: boolean
  ended: boolean
  /** Shared by `stop` and an exit of the sandbox, which may happen at the same time. */
  cleaned: Promise<void> | null
}

type Shared = Pick<SandboxDriver, 'create' | 'find' | 'list' | 'stop' | 'sweep' | 'memoryTrouble' | 'onExit'>

export function createLifecycle<Own extends object>(
  machine: Machine<Own>,
): Shared & {
  /** Call when the sandbox's first process has ended. `how` is "with exit code 1", for example. */
  ended(entry: Entry & Own, how: string): Promise<void>
  removeFolder(sandboxId: string): Promise<void>
} {
  const { runRoot } = machine
  const live = new Map<string, Entry & Own>()
  const exits = createExits(machine.log)

  const asSandbox = (entry: Entry & Own): Sandbox => ({
    sandboxId: entry.spec.sandboxId,
    externalId: machine.externalId(entry),
    daemonSocket: socketIn(runRoot, entry.spec.sandboxId),
  })

  async function create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    refuseBadSpec(spec)
    if (live.has(spec.sandboxId)) throw new SandboxError('boot-failed', `Sandbox ${spec.sandboxId} already exists.`)
    const entry = { ...machine.blank(spec), spec, running: false, stopping: false, ended: false, cleaned: null }
    live.set(spec.sandboxId, entry)
    const isStopped = () => signal.aborted || entry.stopping
    const throwIfStopped = () => {
      if (isStopped()) throw aborted()
    }
    const onAbort = () => machine.kill?.(entry)
    signal.addEventListener('abort', onAbort)
    try {
      throwIfStopped()
      await machine.start(entry, signal)
      await untilDaemonAnswers(entry, throwIfStopped)
      entry.running = true
      return asSandbox(entry)
    } catch (error) {
      const reason = isStopped() ? aborted() : machine.explain(error, entry)
      await clean(entry)
      throw reason
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function untilDaemonAnswers(entry: Entry & Own, throwIfStopped: () => void): Promise<void> {
    const deadline = Date.now() + machine.bootMs
    while (!entry.ended) {
      throwIfStopped()
      if (await answersHealth(socketIn(runRoot, entry.spec.sandboxId))) return throwIfStopped()
      if (Date.now() > deadline) throw new SandboxError('boot-failed', 'The daemon did not answer in time.')
      await new Promise((again) => setTimeout(again, machine.pollMs))
    }
    throwIfStopped()
    throw await machine.endedEarly(entry)
  }

  function clean(entry: Entry & Own): Promise<void> {
    entry.cleaned ??= (async () => {
      entry.stopping = true
      entry.running = false
      await machine.remove(entry)
      live.delete(entry.spec.sandboxId)
    })()
    return entry.cleaned
  }

  /** With the record that some drivers keep beside it. */
  async function removeFolder(sandboxId: string): Promise<void> {
    await rm(join(runRoot, sandboxId), { recursive: true, force: true })
    await rm(join(runRoot, `${sandboxId}.json`), { force: true })
  }

  return {
    create,
    removeFolder,
    async ended(entry, how) {
      entry.ended = true
      if (!entry.running || entry.stopping) return
      const trouble = await machine.memoryTrouble(entry)
      const why = trouble === null ? '' : `, after it ran ${trouble}`
      const reason = `The sandbox ended by itself ${how}${why}. ${await machine.lastLines(entry)}`.trim()
      await exits.report({ sandboxId: entry.spec.sandboxId, reason }, () => clean(entry))
    },
    async find(sandboxId) {
      const entry = live.get(sandboxId)
      return entry?.running ? asSandbox(entry) : null
    },
    async list() {
      return [...live.values()].filter((entry) => entry.running).map(asSandbox)
    },
    async stop(sandboxId) {
      const entry = live.get(sandboxId)
      // A create in progress detects this and ends.
      if (entry !== undefined) return clean(entry)
      // Not live in this server, but a folder of that id may exist.
      if (idPattern.test(sandboxId)) await removeFolder(sandboxId)
    },
    async sweep() {
      await machine.sweep((sandboxId) => live.has(sandboxId))
      for (const name of await readdir(runRoot).catch(() => [])) {
        const sandboxId = name.replace(/\.json$/, '')
        if (live.has(sandboxId)) continue
        await removeFolder(sandboxId)
        machine.log('removed a sandbox that an earlier server left behind', { sandbox_id: sandboxId })
      }
    },
    async memoryTrouble(sandboxId) {
      const entry = live.get(sandboxId)
      return entry === undefined ? null : machine.memoryTrouble(entry)
    },
    onExit: exits.onExit,
  }
}

export const socketIn = (runRoot: string, sandboxId: string): string => join(runRoot, sandboxId, daemonSocketName)

/** Whether the daemon behind a socket answers. */
async function answersHealth(socket: string): Promise<boolean> {
  try {
    const reply = await fetch('http://daemon/svc/health', { unix: socket, signal: AbortSignal.timeout(1000) })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    // Not listening yet; the caller polls until its deadline.
    return false
  }
}
