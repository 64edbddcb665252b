/**
 * Runs sandboxes on a plain Linux machine with bubblewrap. A sandbox is a child process with all its descendants: it
 * exists only in memory, ends with this server, and leaves only an empty folder and empty groups for `sweep`.
 */
import { type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import {
  type ProbeOutcome,
  type Sandbox,
  type SandboxDriver,
  SandboxError,
  type SandboxLimits,
  type SandboxSpec,
} from '../driver.ts'
import { etcFiles, memorySentence, sharedMemorySentence } from '../layout.ts'
import { daemonSocketIn, emptyName, fds, type Sources } from './arrangement.ts'
import { killProcess, openCgroups } from './cgroups.ts'
import { examineLocal } from './examine.ts'
import { hiddenFrom } from './hidden-paths.ts'
import { createSlots, firstUidOf, readIdentity } from './ids.ts'
import { launch, LaunchFailed, stagedNames } from './launch.ts'
import { answersHealth } from '../daemon-health.ts'
import { createExits } from '../exits.ts'
import { lendSocket } from '../lend-socket.ts'
import { aborted, idPattern, refuseBadSpec } from '../spec.ts'
import { createOutputTail, type OutputTail } from '../output-tail.ts'
import { findProgram, probeMachine } from './probe.ts'
import { seccompFilter } from './seccomp.ts'

export interface LocalDriverOptions {
  /** A folder of the server, mode 0700. */
  stateDir: string
  /** The compiled program: svc, svc-agent, and svc-entrypoint in the sandbox. */
  svcBinary: string
  /** The agent runtime: opencode in the sandbox. */
  runtimeBinary: string
  log: (message: string, facts?: Record<string, unknown>) => void
  /** Files and folders of this machine that no sandbox may read, even where it reads their surroundings. */
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
  /** Resolves once the last process has ended. */
  ended: Promise<void>
  /** Shared by `stop` and an exit of the sandbox, which may happen at the same time. */
  cleaned: Promise<void> | null
}

const freeBytesMin = 16 * 1024 * 1024

export function createLocalDriver(options: LocalDriverOptions): SandboxDriver {
  const stateDir = resolve(options.stateDir)
  const runRoot = join(stateDir, 'run')
  const filterFile = join(stateDir, 'seccomp.bpf')
  const stage = join(stateDir, 'stage')
  const live = new Map<string, Live>()
  const exits = createExits(options.log)
  const slots = createSlots()
  const identity = readIdentity()
  // Two servers on one machine have different state folders, so their groups differ too.
  const cgroups = openCgroups(`svc-${Bun.hash(stateDir).toString(16).padStart(16, '0')}`, join(stateDir, 'groups.json'))
  let ready: ProbeOutcome | null = null

  const runFolder = (sandboxId: string) => join(runRoot, sandboxId)
  const asSandbox = (entry: Live): Sandbox => ({
    sandboxId: entry.sandboxId,
    externalId: String(entry.innerPid),
    daemonSocket: daemonSocketIn(runFolder(entry.sandboxId)),
  })

  async function probe(): Promise<ProbeOutcome> {
    // A good result is kept while bubblewrap exists: the probe runs before each create and takes 30 ms. A bad result
    // is not kept.
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
    if (live.has(spec.sandboxId)) throw new SandboxError('boot-failed', `Sandbox ${spec.sandboxId} already exists.`)
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
      throw new SandboxError('no-space', `${stateDir} has less than 16 MB of free space.`, {
        hint: 'Free some disk space.',
      })
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
          // bubblewrap has ended, but the watcher still holds the pipes.
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
    // For the sweep after a kill -9 of this server. The start time distinguishes this process from a later one with
    // the same pid.
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
    await exits.report({ sandboxId: entry.sandboxId, reason: reason.trim() }, () => clean(entry))
  }

  async function memoryTroubleOf(entry: Live): Promise<string | null> {
    const trouble = await (await cgroups).memoryTrouble(entry.sandboxId)
    if (trouble === null) return null
    return trouble === 'own' ? memorySentence(entry.limits) : sharedMemorySentence
  }

  function kill(entry: Live): void {
    // PID 1 first: the kernel then ends its whole namespace before bubblewrap, which waits for it, exits. bubblewrap
    // is our child and not reaped yet, so neither pid can belong to another process.
    const child = entry.child
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    killProcess(entry.innerPid ?? -child.pid)
  }

  function clean(entry: Live): Promise<void> {
    entry.cleaned ??= (async () => {
      entry.stopping = true
      entry.running = false
      kill(entry)
      // bubblewrap hangs only if PID 1 cannot die; killing bubblewrap then also kills PID 1.
      const insist = setTimeout(() => entry.child?.pid !== undefined && killProcess(-entry.child.pid), 3000)
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
      options.log('removed a sandbox that an earlier server left behind', { sandbox_id: sandboxId })
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
      // Not live in this server, but a folder of that id may exist.
      if (idPattern.test(sandboxId)) await removeFolder(sandboxId)
    },
    async memoryTrouble(sandboxId) {
      const entry = live.get(sandboxId)
      if (entry === undefined) return null
      return memoryTroubleOf(entry)
    },
    onExit: exits.onExit,
  }
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
  // The second field is the program's name, which may contain spaces and brackets; the 22nd is the start time.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
}

async function killRecorded(file: string): Promise<void> {
  const record = await readFile(file, 'utf8')
    .then((text) => JSON.parse(text) as { pid?: unknown; started?: unknown })
    .catch(() => null)
  if (typeof record?.pid !== 'number' || record.pid <= 1 || typeof record.started !== 'string') return
  if ((await startTime(record.pid)) === record.started) killProcess(record.pid)
}

/** The watcher waits for this server's end; closing its pipe ends it with this sandbox. */
function dismissWatcher(child: ChildProcess): void {
  const pipes = child.stdio as ({ destroy?: () => void } | null | undefined)[]
  pipes[fds.watched]?.destroy?.()
}
