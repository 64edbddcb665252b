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
  /** How long a sandbox goes on without a server; 0 when it ends with the server. */
  leaseSeconds: number
  log: (message: string, facts?: Record<string, unknown>) => void
  blank(spec: SandboxSpec): Own
  /** Starts the first process, and ends with `untilAnswers`, which waits for the daemon. */
  start(entry: Entry & Own, spec: SandboxSpec, how: StartOptions): Promise<void>
  /** Called once the daemon answers. */
  started(entry: Entry & Own): void
  /** The live sandboxes of an earlier server. */
  leftBehind(): Promise<(Held & { own: Own })[]>
  /** Reports the end of a sandbox that another server started, by calling `ended`. */
  watch(entry: Entry & Own): void
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
  /** Ends every process of the sandbox and removes everything of it. Called again when it failed. */
  remove(entry: Entry & Own): Promise<void>
  /** Removes what a killed server left behind, except for the folders. */
  sweep(isLive: (sandboxId: string) => boolean): Promise<void>
}

export interface StartOptions {
  signal: AbortSignal
  untilAnswers(): Promise<void>
}

type Held = Pick<SandboxSpec, 'sandboxId' | 'limits'>

export interface Entry {
  spec: Held
  running: boolean
  stopping: boolean
  ended: boolean
  /** The lease of a sandbox that another server started may be shorter than this server's. */
  isAdopted: boolean
  renewAt: number
  /** Shared by `stop` and an exit of the sandbox, which may happen at the same time. Null again after a failure. */
  cleaned: Promise<void> | null
}

type Shared = Pick<
  SandboxDriver,
  'outlives' | 'isElsewhere' | 'create' | 'adopt' | 'find' | 'list' | 'stop' | 'sweep' | 'memoryTrouble' | 'onExit'
>

/** Another server may have started it with a lease of any length. */
const adoptedRenewMs = 10_000
/** Longer than one question to a daemon. */
const stepMsMax = 5_000

export function createLifecycle<Own extends object>(
  machine: Machine<Own>,
): Shared & {
  /** Call when the sandbox's first process has ended. `how` is "with exit code 1", for example. */
  ended(entry: Entry & Own, how: string): Promise<void>
  removeFolder(sandboxId: string): Promise<void>
} {
  const { runRoot, leaseSeconds } = machine
  const live = new Map<string, Entry & Own>()
  const exits = createExits(machine.log)
  let renewing: NodeJS.Timeout | null = null

  const asSandbox = (entry: Entry & Own): Sandbox => ({
    sandboxId: entry.spec.sandboxId,
    externalId: machine.externalId(entry),
    daemonSocket: socketIn(runRoot, entry.spec.sandboxId),
  })

  async function create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    refuseBadSpec(spec)
    if (live.has(spec.sandboxId)) throw new SandboxError('boot-failed', `Sandbox ${spec.sandboxId} already exists.`)
    const { sandboxId, limits } = spec
    const held = { sandboxId, limits }
    const state = { running: false, stopping: false, ended: false, isAdopted: false, renewAt: 0, cleaned: null }
    const entry = { ...machine.blank(spec), spec: held, ...state }
    live.set(sandboxId, entry)
    const isStopped = () => signal.aborted || entry.stopping
    const throwIfStopped = () => {
      if (isStopped()) throw aborted()
    }
    const onAbort = () => machine.kill?.(entry)
    signal.addEventListener('abort', onAbort)
    try {
      throwIfStopped()
      await machine.start(entry, spec, { signal, untilAnswers: () => untilDaemonAnswers(entry, throwIfStopped) })
      entry.running = true
      machine.started(entry)
      renewLeases()
      return asSandbox(entry)
    } catch (error) {
      const reason = isStopped() ? aborted() : machine.explain(error, entry)
      await clean(entry)
      throw reason
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function adopt(): Promise<Sandbox[]> {
    const adopted = (await machine.leftBehind()).map(({ sandboxId, limits, own }) => {
      const spec = { sandboxId, limits }
      const state = { running: true, stopping: false, ended: false, isAdopted: true, renewAt: 0, cleaned: null }
      return { ...own, spec, ...state }
    })
    for (const entry of adopted) {
      live.set(entry.spec.sandboxId, entry)
      machine.watch(entry)
    }
    renewLeases()
    return adopted.map(asSandbox)
  }

  /** A lease counts the time without a request of a server. */
  function renewLeases(): void {
    if (leaseSeconds === 0 || renewing !== null || live.size === 0) return
    const renewMs = (leaseSeconds * 1000) / 4
    const everyMs = Math.min(adoptedRenewMs, renewMs)
    renewing = setInterval(() => {
      const now = performance.now()
      for (const entry of live.values()) {
        if (!entry.running || now < entry.renewAt) continue
        entry.renewAt = now + (entry.isAdopted ? everyMs : renewMs) - everyMs / 2
        void answersHealth(socketIn(runRoot, entry.spec.sandboxId))
      }
    }, everyMs)
    renewing.unref()
  }

  async function untilDaemonAnswers(entry: Entry & Own, throwIfStopped: () => void): Promise<void> {
    let at = performance.now()
    let leftMs = machine.bootMs
    while (!entry.ended) {
      throwIfStopped()
      if (await answersHealth(socketIn(runRoot, entry.spec.sandboxId))) return throwIfStopped()
      const now = performance.now()
      // A longer step is a pause of this process or a sleep of its machine, in which nobody read an answer.
      leftMs -= Math.min(now - at, stepMsMax)
      at = now
      if (leftMs < 0) throw new SandboxError('boot-failed', 'The daemon did not answer in time.')
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
      if (live.size > 0 || renewing === null) return
      clearInterval(renewing)
      renewing = null
    })().catch((error: unknown) => {
      entry.cleaned = null
      throw error
    })
    return entry.cleaned
  }

  /** An engine or a cluster that does not answer any more must not hide the end of its sandbox. */
  async function details(entry: Entry & Own): Promise<string> {
    try {
      const trouble = await machine.memoryTrouble(entry)
      const why = trouble === null ? '' : `, after it ran ${trouble}`
      return `${why}. ${await machine.lastLines(entry)}`.trimEnd()
    } catch (error) {
      machine.log('the last lines of a sandbox are unknown', { sandbox_id: entry.spec.sandboxId, error: String(error) })
      return '.'
    }
  }

  /** With the files that some drivers keep beside it. */
  async function removeFolder(sandboxId: string): Promise<void> {
    await rm(join(runRoot, sandboxId), { recursive: true, force: true })
    for (const suffix of besides) await rm(join(runRoot, `${sandboxId}${suffix}`), { force: true })
  }

  return {
    outlives: leaseSeconds > 0,
    isElsewhere: false,
    create,
    adopt,
    removeFolder,
    async ended(entry, how) {
      entry.ended = true
      if (!entry.running || entry.stopping) return
      const reason = `The sandbox ended by itself ${how}${await details(entry)}`
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
        const sandboxId = name.slice(0, name.includes('.') ? name.indexOf('.') : undefined)
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

/** The record and the output of a sandbox. */
const besides = ['.json', '.json.new', '.log']

export const socketIn = (runRoot: string, sandboxId: string): string => join(runRoot, sandboxId, daemonSocketName)

/** Whether the daemon behind a socket answers. */
async function answersHealth(socket: string): Promise<boolean> {
  try {
    const reply = await fetch('http://daemon/svc/health', {
      unix: socket,
      signal: AbortSignal.timeout(1000),
      // A connection that stays open wakes the daemon every second.
      headers: { connection: 'close' },
      keepalive: false,
    })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    // Not listening yet; the caller polls until its deadline.
    return false
  }
}
