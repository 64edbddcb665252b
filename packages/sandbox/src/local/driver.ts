/**
 * Runs sandboxes on a plain Linux machine with bubblewrap. A sandbox is a child process with all its descendants: it
 * exists only in memory, ends with this server, and leaves only an empty folder and empty groups for `sweep`.
 */
import { type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { type ProbeOutcome, type SandboxDriver, SandboxError } from '../driver.ts'
import { createLifecycle, type Entry, socketIn } from '../lifecycle.ts'
import { etcFiles, memorySentence, sharedMemorySentence } from '../layout.ts'
import { emptyName, fds, type Sources } from './arrangement.ts'
import { killProcess, openCgroups } from './cgroups.ts'
import { examineLocal } from './examine.ts'
import { hiddenFrom } from './hidden-paths.ts'
import { createSlots, firstUidOf, readIdentity } from './ids.ts'
import { launch, LaunchFailed, stagedNames } from './launch.ts'
import { lendSocket } from '../lend-socket.ts'
import { aborted, noIsolation } from '../spec.ts'
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

interface Own {
  slot: number
  child: ChildProcess | null
  innerPid: number | null
  output: OutputTail
  /** Resolves once the last process has ended. */
  gone: Promise<void>
}
type Live = Entry & Own

const freeBytesMin = 16 * 1024 * 1024

export function createLocalDriver(options: LocalDriverOptions): SandboxDriver {
  const stateDir = resolve(options.stateDir)
  const runRoot = join(stateDir, 'run')
  const filterFile = join(stateDir, 'seccomp.bpf')
  const stage = join(stateDir, 'stage')
  const slots = createSlots()
  const identity = readIdentity()
  // Two servers on one machine have different state folders, so their groups differ too.
  const cgroups = openCgroups(`svc-${Bun.hash(stateDir).toString(16).padStart(16, '0')}`, join(stateDir, 'groups.json'))
  let ready: ProbeOutcome | null = null

  const lifecycle = createLifecycle<Own>({
    runRoot,
    bootMs: options.bootMs ?? 20_000,
    pollMs: 4,
    log: options.log,
    blank: () => ({
      slot: slots.take(),
      child: null,
      innerPid: null,
      output: createOutputTail(),
      gone: Promise.resolve(),
    }),
    start,
    kill,
    endedEarly: ({ child }) => new LaunchFailed(child?.exitCode ?? null, child?.signalCode ?? null),
    explain,
    externalId: ({ innerPid }) => String(innerPid),
    memoryTrouble,
    lastLines: ({ output }) => output.asSentence(),
    remove,
    sweep,
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
      longestSocket: socketIn(runRoot, 'x'.repeat(36)),
    })
    ready = outcome.kind === 'ready' ? outcome : null
    return outcome
  }

  async function start(entry: Live): Promise<void> {
    const { spec } = entry
    const outcome = await probe()
    if (outcome.kind === 'missing') throw noIsolation(outcome)
    mkdirSync(runRoot, { recursive: true, mode: 0o700 })
    chmodSync(stateDir, 0o700)
    const free = statfsSync(stateDir)
    if (free.bavail * free.bsize < freeBytesMin) {
      throw new SandboxError('no-space', `${stateDir} has less than 16 MB of free space.`, {
        hint: 'Free some disk space.',
      })
    }
    const sources = prepareFolders(entry)
    const groups = await cgroups
    const cgroupFiles = await groups.create(spec.sandboxId, spec.limits)
    if (entry.stopping) throw aborted()
    const bubblewrap = findProgram('bwrap')!
    const limitingPrefix = groups.prefix(spec.sandboxId, spec.limits)
    const hidden = hiddenFrom(options.hiddenPaths ?? [])
    const running = await launch(
      { spec, sources, hidden, stage, identity, slot: entry.slot, bubblewrap, filterFile, cgroupFiles, limitingPrefix },
      (child) => {
        entry.child = child
        entry.output.follow(child)
        entry.gone = new Promise((resolveGone) => {
          child.once('error', () => {
            entry.ended = true
            resolveGone()
          })
          // bubblewrap has ended, but the watcher still holds the pipes.
          child.once('exit', () => dismissWatcher(child))
          child.once('close', (code, signal) => {
            resolveGone()
            void lifecycle.ended(entry, `with ${signal === null ? `exit code ${code}` : `signal ${signal}`}`)
          })
        })
        if (entry.stopping) kill(entry)
      },
    )
    entry.innerPid = running.innerPid
    // For the sweep after a kill -9 of this server. The start time distinguishes this process from a later one with
    // the same pid.
    writeFileSync(
      join(runRoot, `${spec.sandboxId}.json`),
      JSON.stringify({ pid: running.innerPid, started: await startTime(running.innerPid) }),
    )
  }

  function prepareFolders({ spec, slot }: Live): Sources {
    writeFileSync(filterFile, seccompFilter())
    mkdirSync(join(stage, 'etc'), { recursive: true, mode: 0o755 })
    mkdirSync(join(stage, 'run'), { recursive: true, mode: 0o755 })
    for (const name of stagedNames) if (name !== 'run') writeFileSync(join(stage, name), '', { flag: 'a' })
    writeFileSync(join(stage, 'etc', emptyName), '', { mode: 0o644 })
    for (const [name, text] of Object.entries(etcFiles)) writeFileSync(join(stage, 'etc', name), text, { mode: 0o644 })

    const folder = join(runRoot, spec.sandboxId)
    mkdirSync(folder, { mode: 0o755 })
    if (identity.kind === 'ranges') {
      const owner = firstUidOf(slot)
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

  async function memoryTrouble({ spec }: Live): Promise<string | null> {
    const trouble = await (await cgroups).memoryTrouble(spec.sandboxId)
    if (trouble === null) return null
    return trouble === 'own' ? memorySentence(spec.limits) : sharedMemorySentence
  }

  function kill(entry: Live): void {
    // PID 1 first: the kernel then ends its whole namespace before bubblewrap, which waits for it, exits. bubblewrap
    // is our child and not reaped yet, so neither pid can belong to another process.
    const child = entry.child
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    killProcess(entry.innerPid ?? -child.pid)
  }

  async function remove(entry: Live): Promise<void> {
    kill(entry)
    // bubblewrap hangs only if PID 1 cannot die; killing bubblewrap then also kills PID 1.
    const insist = setTimeout(() => entry.child?.pid !== undefined && killProcess(-entry.child.pid), 3000)
    await entry.gone
    clearTimeout(insist)
    await (await cgroups).remove(entry.spec.sandboxId)
    await lifecycle.removeFolder(entry.spec.sandboxId)
    slots.give(entry.slot)
  }

  async function sweep(isLive: (sandboxId: string) => boolean): Promise<void> {
    const groups = await cgroups
    for (const sandboxId of await groups.list()) {
      if (!isLive(sandboxId)) await groups.remove(sandboxId)
    }
    for (const name of await readdir(runRoot).catch(() => []))
      if (name.endsWith('.json') && !isLive(name.slice(0, -'.json'.length))) await killRecorded(join(runRoot, name))
  }

  return {
    ...lifecycle,
    name: 'local',
    probe,
    examine: async () => examineLocal({ probed: await probe(), identity, cgroups: await cgroups, stateDir }),
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
