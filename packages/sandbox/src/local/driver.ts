/**
 * Runs sandboxes on a plain Linux machine with bubblewrap. A sandbox is a process with all its descendants: it exists
 * only in memory. With a lease it outlives its server, and the next one adopts it by its record (docs/decisions/0046);
 * without one it ends with its server and leaves only an empty folder and empty groups for `sweep`.
 */
import { type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { type ProbeOutcome, type SandboxDriver, SandboxError, type SandboxSpec } from '../driver.ts'
import { createLifecycle, type Entry, socketIn, type StartOptions } from '../lifecycle.ts'
import { etcFiles, memorySentence, sharedMemorySentence } from '../layout.ts'
import { emptyName, fds, type Sources } from './arrangement.ts'
import { killProcess, openCgroups } from './cgroups.ts'
import { examineLocal } from './examine.ts'
import { hiddenFrom } from './hidden-paths.ts'
import { createSlots, firstUidOf, readIdentity } from './ids.ts'
import { launch, LaunchFailed, stagedFiles, stagedFolders } from './launch.ts'
import { aborted, noIsolation } from '../spec.ts'
import { lastLinesOf } from '../output-tail.ts'
import { findProgram, probeMachine } from './probe.ts'
import { isAlive, readLiveRecord, startTime, writeRecord } from './record.ts'
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
  /** How long a sandbox goes on without a server. 0, the default: it ends with the server. */
  leaseSeconds?: number
}

interface Own {
  slot: number
  /** Null in a server that adopted the sandbox. */
  child: ChildProcess | null
  /** PID 1 of the sandbox. */
  inner: { pid: number; started: string } | null
  release(): void
  /** Resolves once the last process has ended. */
  gone: Promise<void>
}
type Live = Entry & Own

const freeBytesMin = 16 * 1024 * 1024

export function createLocalDriver(options: LocalDriverOptions): SandboxDriver {
  const stateDir = resolve(options.stateDir)
  const runRoot = join(stateDir, 'run')
  const filterFile = join(stateDir, 'seccomp.bpf')
  const stage = join(stateDir, 'mounts')
  const leaseSeconds = options.leaseSeconds ?? 0
  const outputOf = (sandboxId: string) => join(runRoot, `${sandboxId}.log`)
  const slots = createSlots()
  const identity = readIdentity()
  // Two servers on one machine have different state folders, so their groups differ too.
  const cgroups = openCgroups(`svc-${Bun.hash(stateDir).toString(16).padStart(16, '0')}`, join(stateDir, 'groups.json'))
  let ready: ProbeOutcome | null = null
  /** Sandboxes that an earlier server started. */
  const adopted = new Set<Live>()
  let watching: NodeJS.Timeout | null = null

  const lifecycle = createLifecycle<Own>({
    runRoot,
    bootMs: options.bootMs ?? 20_000,
    pollMs: 4,
    leaseSeconds,
    log: options.log,
    blank: () => ({ slot: slots.take(), child: null, inner: null, release() {}, gone: Promise.resolve() }),
    start,
    started: (entry) => entry.release(),
    leftBehind,
    watch,
    kill,
    endedEarly: ({ child }) => new LaunchFailed(child?.exitCode ?? null, child?.signalCode ?? null),
    explain: (error, { spec }) => explain(error, lastLinesOf(outputOf(spec.sandboxId))),
    externalId: ({ inner }) => String(inner?.pid),
    memoryTrouble,
    lastLines: ({ spec }) => lastLinesOf(outputOf(spec.sandboxId)),
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

  async function start(entry: Live, spec: SandboxSpec, { untilAnswers }: StartOptions): Promise<void> {
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
    const sources = prepareFolders(entry, spec)
    const groups = await cgroups
    const cgroupFiles = await groups.create(spec.sandboxId, spec.limits)
    if (entry.stopping) throw aborted()
    const bubblewrap = findProgram('bwrap')!
    const limitingPrefix = groups.prefix(spec.sandboxId, spec.limits)
    const hidden = hiddenFrom(options.hiddenPaths ?? [])
    const running = await launch(
      {
        ...{
          spec,
          sources,
          hidden,
          stage,
          identity,
          bubblewrap,
          filterFile,
          cgroupFiles,
          limitingPrefix,
          leaseSeconds,
        },
        slot: entry.slot,
        outputFile: outputOf(spec.sandboxId),
      },
      (child) => {
        entry.child = child
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
    const started = startTime(running.innerPid)
    if (started === null) throw new LaunchFailed(null, null)
    entry.inner = { pid: running.innerPid, started }
    entry.release = running.release
    writeRecord(runRoot, spec.sandboxId, { ...entry.inner, slot: entry.slot, limits: spec.limits })
    await untilAnswers()
  }

  /** Sandboxes of this folder whose process runs, whichever server started them. */
  async function recorded() {
    const names = await readdir(runRoot).catch((): string[] => [])
    return names.flatMap((name) => {
      const sandboxId = name.endsWith('.json') ? name.slice(0, -'.json'.length) : ''
      const record = readLiveRecord(runRoot, sandboxId)
      return record === null ? [] : [{ sandboxId, ...record }]
    })
  }

  async function leftBehind() {
    if (leaseSeconds === 0) return []
    return (await recorded()).map(({ sandboxId, slot, limits, ...inner }) => {
      slots.reserve(slot)
      // Binds the record of an earlier version to this folder.
      writeRecord(runRoot, sandboxId, { ...inner, slot, limits })
      return { sandboxId, limits, own: { slot, child: null, inner, release() {}, gone: Promise.resolve() } }
    })
  }

  /** The kernel reports the end of a process only to its parent, so this asks once a second for all of them. */
  function watch(entry: Live): void {
    adopted.add(entry)
    watching ??= setInterval(lookAtAdopted, 1000)
    watching.unref()
  }

  function lookAtAdopted(): void {
    for (const entry of adopted) {
      if (entry.inner !== null && isAlive(entry.inner)) continue
      adopted.delete(entry)
      void lifecycle.ended(entry, 'with an unknown exit code')
    }
    if (adopted.size > 0 || watching === null) return
    clearInterval(watching)
    watching = null
  }

  function prepareFolders({ slot }: Live, spec: SandboxSpec): Sources {
    writeFileSync(filterFile, seccompFilter())
    mkdirSync(join(stage, 'etc'), { recursive: true, mode: 0o755 })
    for (const name of stagedFolders) mkdirSync(join(stage, name), { recursive: true, mode: 0o755 })
    for (const name of stagedFiles) writeFileSync(join(stage, name), '', { flag: 'a' })
    writeFileSync(join(stage, 'etc', emptyName), '', { mode: 0o644 })
    for (const [name, text] of Object.entries(etcFiles)) writeFileSync(join(stage, 'etc', name), text, { mode: 0o644 })

    const folder = join(runRoot, spec.sandboxId)
    mkdirSync(folder, { mode: 0o755 })
    if (identity.kind === 'ranges') {
      const owner = firstUidOf(slot)
      chownSync(folder, owner, owner)
    }
    return {
      run: folder,
      relay: spec.relaySocket === null ? null : dirname(resolve(spec.relaySocket)),
      egress: spec.egressSocket ? dirname(resolve(spec.egressSocket)) : null,
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
    const { child, inner } = entry
    // PID 1 first: the kernel then ends its whole namespace before bubblewrap, which waits for it, exits. With a lease
    // it outlives a bubblewrap that was killed.
    if (inner !== null && isAlive(inner)) return killProcess(inner.pid)
    // Our child and not reaped yet, so its pid cannot belong to another process.
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    killProcess(-child.pid)
  }

  async function remove(entry: Live): Promise<void> {
    kill(entry)
    // bubblewrap hangs only if PID 1 cannot die; killing bubblewrap then also kills PID 1.
    const insist = setTimeout(() => entry.child?.pid !== undefined && killProcess(-entry.child.pid), 3000)
    await entry.gone
    if (entry.child === null && entry.inner !== null)
      while (isAlive(entry.inner)) await new Promise((again) => setTimeout(again, 5))
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
    for (const { sandboxId, pid } of await recorded()) if (!isLive(sandboxId)) killProcess(pid)
  }

  return {
    ...lifecycle,
    name: 'local',
    probe,
    examine: async () => examineLocal({ probed: await probe(), identity, cgroups: await cgroups, stateDir }),
  }
}

function explain(error: unknown, lastLines: string): SandboxError {
  if (error instanceof SandboxError && error.kind !== 'boot-failed') return error
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SandboxError('no-space', 'The disk is full.', { hint: 'Free some disk space.', cause: error })
  }
  const what = error instanceof Error ? error.message : String(error)
  const message = `The sandbox did not start: ${what.replace(/\.$/, '')}. ${lastLines}`.trim()
  return new SandboxError('boot-failed', message, { cause: error })
}

/** The watcher waits for this server's end; closing its pipe ends it with this sandbox. */
function dismissWatcher(child: ChildProcess): void {
  const pipes = child.stdio as ({ destroy?: () => void } | null | undefined)[]
  pipes[fds.watched]?.destroy?.()
}
