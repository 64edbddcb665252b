/**
 * Sandboxes on a bare Linux machine by bubblewrap. A sandbox is one process of ours with everything it started: it
 * lives in memory only, dies with this server, and leaves nothing but an empty folder and empty groups for `sweep`.
 */
import { type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import {
  type ProbeOutcome,
  type Sandbox,
  type SandboxDriver,
  SandboxError,
  type SandboxExit,
  type SandboxLimits,
  type SandboxSpec,
} from '../driver.ts'
import { etcFiles, memorySentence, sharedMemorySentence } from '../layout.ts'
import { daemonSocketIn, emptyName, fds, type Sources } from './arrangement.ts'
import { openCgroups } from './cgroups.ts'
import { examineLocal } from './examine.ts'
import { hiddenFrom } from './hidden-paths.ts'
import { createSlots, firstUidOf, readIdentity } from './ids.ts'
import { launch, LaunchFailed, stagedNames } from './launch.ts'
import { answersHealth } from '../daemon-answers.ts'
import { aborted, idPattern, refuseBadSpec } from '../spec.ts'
import { createOutputTail, type OutputTail } from '../output-tail.ts'
import { findProgram, probeMachine } from './probe.ts'
import { seccompFilter } from './seccomp.ts'

export interface LocalDriverOptions {
  /** A folder of the server, 0700. */
  stateDir: string
  /** The compiled program: svc, svc-agent and svc-entrypoint inside. */
  svcBinary: string
  /** The agent runtime: opencode inside. */
  runtimeBinary: string
  log: (message: string, facts?: Record<string, unknown>) => void
  /** Files and folders of this machine that no sandbox may read, though it reads what is around them. */
  hiddenPaths?: readonly string[]
  /** How long a daemon may take to answer for the first time. */
  bootMs?: number
}

interface Live {
  sandboxId: string
  slot: number
  limits: SandboxLimits
  child: ChildProcess | null
  innerPid: number | null
  output: OutputTail
  running: boolean
  stopping: boolean
  /** Resolves once the last process is gone. */
  ended: Promise<void>
  /** What `stop` and an exit of its own share, so that both may happen at once. */
  cleaned: Promise<void> | null
}

const freeBytesMin = 16 * 1024 * 1024

export function createLocalDriver(options: LocalDriverOptions): SandboxDriver {
  const stateDir = resolve(options.stateDir)
  const runRoot = join(stateDir, 'run')
  const filterFile = join(stateDir, 'seccomp.bpf')
  const stage = join(stateDir, 'stage')
  const live = new Map<string, Live>()
  const listeners = new Set<(exit: SandboxExit) => void>()
  const slots = createSlots()
  const identity = readIdentity()
  // Two servers of one machine have two state folders, so their groups must not meet.
  const cgroups = openCgroups(`svc-${Bun.hash(stateDir).toString(16).padStart(16, '0')}`, join(stateDir, 'groups.json'))
  let ready: ProbeOutcome | null = null

  const runFolder = (sandboxId: string) => join(runRoot, sandboxId)
  const asSandbox = (entry: Live): Sandbox => ({
    sandboxId: entry.sandboxId,
    externalId: String(entry.innerPid),
    daemonSocket: daemonSocketIn(runFolder(entry.sandboxId)),
  })

  async function probe(): Promise<ProbeOutcome> {
    // Good news keeps while bubblewrap is there: it is asked before each create and costs some 30 ms. Bad news does not.
    if (ready !== null && findProgram('bwrap') !== null) return ready
    const outcome = await probeMachine({
      svcBinary: options.svcBinary,
      runtimeBinary: options.runtimeBinary,
      identity,
      cgroups: await cgroups,
      longestSocket: daemonSocketIn(runFolder('x'.repeat(36))),
    })
    ready = outcome.kind === 'ready' ? outcome : null
    return outcome
  }

  async function create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    refuseBadSpec(spec)
    if (live.has(spec.sandboxId)) throw new SandboxError('boot-failed', `Sandbox ${spec.sandboxId} exists already.`)
    const entry: Live = {
      sandboxId: spec.sandboxId,
      slot: slots.take(),
      limits: spec.limits,
      child: null,
      innerPid: null,
      output: createOutputTail(),
      running: false,
      stopping: false,
      ended: Promise.resolve(),
      cleaned: null,
    }
    live.set(spec.sandboxId, entry)
    const onAbort = () => kill(entry)
    signal.addEventListener('abort', onAbort)
    try {
      if (signal.aborted) throw aborted()
      const outcome = await probe()
      if (outcome.kind === 'missing') {
        throw new SandboxError(
          'no-isolation',
          outcome.problem,
          outcome.install === null ? {} : { hint: outcome.install },
        )
      }
      await start(entry, spec)
      await untilDaemonAnswers(entry, signal)
      if (entry.stopping || signal.aborted) throw aborted()
      entry.running = true
      return asSandbox(entry)
    } catch (error) {
      const reason = signal.aborted || entry.stopping ? aborted() : explain(error, entry)
      await clean(entry)
      throw reason
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function start(entry: Live, spec: SandboxSpec): Promise<void> {
    mkdirSync(runRoot, { recursive: true, mode: 0o700 })
    chmodSync(stateDir, 0o700)
    const free = statfsSync(stateDir)
    if (free.bavail * free.bsize < freeBytesMin) {
      throw new SandboxError('no-space', `Less than 16 MB are free at ${stateDir}.`, { hint: 'Free some disk space.' })
    }
    const sources = prepareFolders(entry, spec)
    const groups = await cgroups
    const cgroupFiles = await groups.create(entry.sandboxId, spec.limits)
    if (entry.stopping) throw aborted()
    const bubblewrap = findProgram('bwrap')!
    const limitingPrefix = groups.prefix(entry.sandboxId, spec.limits)
    const hidden = hiddenFrom(options.hiddenPaths ?? [])
    const running = await launch(
      { spec, sources, hidden, stage, identity, slot: entry.slot, bubblewrap, filterFile, cgroupFiles, limitingPrefix },
      (child) => {
        entry.child = child
        entry.output.follow(child)
        entry.ended = new Promise((resolveEnded) => {
          child.once('error', () => resolveEnded())
          // bubblewrap has gone; the watcher still holds the pipes, and hears from us that it is over.
          child.once('exit', () => dismissWatcher(child))
          child.once('close', (code, signal) => {
            resolveEnded()
            void onEnd(entry, code, signal)
          })
        })
        if (entry.stopping) kill(entry)
      },
    )
    entry.innerPid = running.innerPid
    // For a sweep after our own kill -9. The start time tells this process from a later one with its number.
    writeFileSync(
      join(runRoot, `${entry.sandboxId}.json`),
      JSON.stringify({ pid: running.innerPid, started: await startTime(running.innerPid) }),
    )
  }

  function prepareFolders(entry: Live, spec: SandboxSpec): Sources {
    writeFileSync(filterFile, seccompFilter())
    mkdirSync(join(stage, 'etc'), { recursive: true, mode: 0o755 })
    mkdirSync(join(stage, 'run'), { recursive: true, mode: 0o755 })
    for (const name of stagedNames) if (name !== 'run') writeFileSync(join(stage, name), '', { flag: 'a' })
    writeFileSync(join(stage, 'etc', emptyName), '', { mode: 0o644 })
    for (const [name, text] of Object.entries(etcFiles)) writeFileSync(join(stage, 'etc', name), text, { mode: 0o644 })

    const folder = runFolder(entry.sandboxId)
    mkdirSync(folder, { mode: 0o755 })
    if (identity.kind === 'ranges') {
      const owner = firstUidOf(entry.slot)
      chownSync(folder, owner, owner)
      if (spec.relaySocket !== null) lendSocket(spec.relaySocket, owner)
      if (spec.egressSocket) lendSocket(spec.egressSocket, owner)
    }
    return {
      run: folder,
      relay: spec.relaySocket === null ? null : resolve(spec.relaySocket),
      egress: spec.egressSocket ? resolve(spec.egressSocket) : null,
      svc: resolve(options.svcBinary),
      runtime: resolve(options.runtimeBinary),
      etc: join(stage, 'etc'),
    }
  }

  async function untilDaemonAnswers(entry: Live, signal: AbortSignal): Promise<void> {
    const socket = daemonSocketIn(runFolder(entry.sandboxId))
    const deadline = Date.now() + (options.bootMs ?? 20_000)
    let gone = false
    void entry.ended.then(() => (gone = true))
    while (!gone && !signal.aborted && !entry.stopping) {
      if (await answersHealth(socket)) return
      if (Date.now() > deadline) throw new SandboxError('boot-failed', 'The daemon did not answer in time.')
      await new Promise((again) => setTimeout(again, 4))
    }
    if (gone) throw new LaunchFailed(entry.child?.exitCode ?? null, entry.child?.signalCode ?? null)
    throw aborted()
  }

  async function onEnd(entry: Live, code: number | null, signal: string | null): Promise<void> {
    if (!entry.running || entry.stopping) return
    const trouble = await memoryTroubleOf(entry)
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`
    const reason = [
      `The sandbox ended by itself with ${how}${trouble === null ? '' : `, after it ran ${trouble}`}.`,
      entry.output.asSentence(),
    ].join(' ')
    // Told in any case: whoever waits for this sandbox must hear that it is gone.
    await clean(entry).catch((error: unknown) =>
      options.log('a sandbox that ended could not be cleaned up', {
        sandbox_id: entry.sandboxId,
        error: String(error),
      }),
    )
    options.log('sandbox ended', { sandbox_id: entry.sandboxId, reason })
    for (const listener of listeners) listener({ sandboxId: entry.sandboxId, reason: reason.trim() })
  }

  async function memoryTroubleOf(entry: Live): Promise<string | null> {
    const trouble = await (await cgroups).memoryTrouble(entry.sandboxId)
    if (trouble === null) return null
    return trouble === 'own' ? memorySentence(entry.limits) : sharedMemorySentence
  }

  function kill(entry: Live): void {
    // PID 1 first: the kernel then ends everything else in its namespace before bubblewrap, which waits for it, ends.
    // bubblewrap is our child and not yet waited for, so neither number can belong to anyone else.
    const child = entry.child
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    signalProcess(entry.innerPid ?? -child.pid)
  }

  function clean(entry: Live): Promise<void> {
    entry.cleaned ??= (async () => {
      entry.stopping = true
      entry.running = false
      kill(entry)
      // bubblewrap could be stuck only if PID 1 cannot die; then its own death still takes PID 1 along.
      const insist = setTimeout(() => entry.child?.pid !== undefined && signalProcess(-entry.child.pid), 3000)
      await entry.ended
      clearTimeout(insist)
      await (await cgroups).remove(entry.sandboxId)
      await removeFolder(entry.sandboxId)
      live.delete(entry.sandboxId)
      slots.give(entry.slot)
    })()
    return entry.cleaned
  }

  async function removeFolder(sandboxId: string): Promise<void> {
    await rm(runFolder(sandboxId), { recursive: true, force: true })
    await rm(join(runRoot, `${sandboxId}.json`), { force: true })
  }

  async function sweep(): Promise<void> {
    const groups = await cgroups
    for (const sandboxId of await groups.list()) {
      if (!live.has(sandboxId)) await groups.remove(sandboxId)
    }
    for (const name of await readdir(runRoot).catch(() => [])) {
      const sandboxId = name.replace(/\.json$/, '')
      if (live.has(sandboxId)) continue
      if (name !== sandboxId) await killRecorded(join(runRoot, name))
      await removeFolder(sandboxId)
      options.log('removed what an earlier server left', { sandbox_id: sandboxId })
    }
  }

  return {
    name: 'local',
    probe,
    examine: async () => examineLocal({ probed: await probe(), identity, cgroups: await cgroups, stateDir }),
    create,
    sweep,
    async find(sandboxId) {
      const entry = live.get(sandboxId)
      return entry?.running ? asSandbox(entry) : null
    },
    async list() {
      return [...live.values()].filter((entry) => entry.running).map(asSandbox)
    },
    async stop(sandboxId) {
      const entry = live.get(sandboxId)
      if (entry !== undefined) return clean(entry)
      // Not ours, or long gone: an id is still worth its folder.
      if (idPattern.test(sandboxId)) await removeFolder(sandboxId)
    },
    async memoryTrouble(sandboxId) {
      const entry = live.get(sandboxId)
      if (entry === undefined) return null
      return memoryTroubleOf(entry)
    },
    onExit(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Lets the sandbox's root connect. In a folder that keeps strangers out the socket may be open to everyone, and so serve many. */
function lendSocket(path: string, owner: number): void {
  const folder = statSync(dirname(path))
  if ((folder.mode & 0o007) === 0) chmodSync(path, 0o666)
  else chownSync(path, owner, owner)
}

function explain(error: unknown, entry: Live): SandboxError {
  if (error instanceof SandboxError && error.kind !== 'boot-failed') return error
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SandboxError('no-space', 'The disk is full.', { hint: 'Free some disk space.', cause: error })
  }
  const what = error instanceof Error ? error.message : String(error)
  const message = `The sandbox did not start: ${what.replace(/\.$/, '')}. ${entry.output.asSentence()}`.trim()
  return new SandboxError('boot-failed', message, { cause: error })
}

async function startTime(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is the program's name, which may hold spaces and brackets; the 22nd is the start.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
}

async function killRecorded(file: string): Promise<void> {
  const record = await readFile(file, 'utf8')
    .then((text) => JSON.parse(text) as { pid?: unknown; started?: unknown })
    .catch(() => null)
  if (typeof record?.pid !== 'number' || record.pid <= 1 || typeof record.started !== 'string') return
  if ((await startTime(record.pid)) === record.started) signalProcess(record.pid)
}

/** It waits for our end; ours with this sandbox will do. */
function dismissWatcher(child: ChildProcess): void {
  const pipes = child.stdio as ({ destroy?: () => void } | null | undefined)[]
  pipes[fds.watched]?.destroy?.()
}

function signalProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // ESRCH: already gone.
  }
}
