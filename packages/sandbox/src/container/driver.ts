/** Runs sandboxes as containers of a Docker or Podman engine on this machine. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { dirname, join, resolve } from 'node:path'

import {
  type MissingLimit,
  type ProbeOutcome,
  type SandboxDriver,
  SandboxError,
  type SandboxLimits,
  type SandboxSpec,
} from '../driver.ts'
import { type Finding, good, missing, weak } from '../finding.ts'
import { memorySentence } from '../layout.ts'
import { createLifecycle, type Entry, socketIn, type StartOptions } from '../lifecycle.ts'
import { plainLines } from '../output-tail.ts'
import { aborted, noIsolation } from '../spec.ts'
import { containerConfig } from './arrangement.ts'
import { ensureBaseImage } from './base-image.ts'
import { type Engine, EngineError, findEngine } from './engine.ts'
import { ensureProjectImage } from './project-image.ts'
import { seccompProfile } from './seccomp-profile.ts'

interface ContainerDriverOptions {
  /** A folder of the server, mode 0700, that the engine sees under the same path. */
  stateDir: string
  svcBinary: string
  runtimeBinary: string
  /** Unix sockets where an engine may listen, in order of preference. */
  sockets: string[]
  /** Whether the commands of a project's Dockerfile have network access during the build. */
  buildNetwork?: 'none' | 'default'
  log: (message: string, facts?: Record<string, unknown>) => void
  bootMs?: number
  /** How long a sandbox goes on without a server. 0, the default: it ends with the server. */
  leaseSeconds?: number
}

interface Own {
  container: string | null
  /** Unix seconds. */
  madeAt: number
  input: Socket | null
}
type Live = Entry & Own

interface OwnContainer {
  Id: string
  Labels: Record<string, string>
  State: string
  /** Unix seconds. */
  Created: number
}

const socketPathMax = 108
const labelOf = 'svc.sandbox'
/** The limits as JSON, for the next server. */
const limitsLabel = 'svc.limits'

export function createContainerDriver(options: ContainerDriverOptions): SandboxDriver {
  const stateDir = resolve(options.stateDir)
  const runRoot = join(stateDir, 'containers')
  const leaseSeconds = options.leaseSeconds ?? 0
  const owner = Bun.hash(stateDir).toString(16).padStart(16, '0')
  let found: Engine | null = null
  let lacking: { engine: string; missing: MissingLimit[] } | null = null
  let baseImage: Promise<string> | null = null

  const lifecycle = createLifecycle<Own>({
    runRoot,
    bootMs: options.bootMs ?? 30_000,
    pollMs: 10,
    leaseSeconds,
    log: options.log,
    blank: () => ({ container: null, madeAt: Math.floor(Date.now() / 1000), input: null }),
    start,
    started() {},
    leftBehind,
    watch: (entry) => void follow(found!, entry, entry.container!),
    endedEarly,
    explain,
    externalId: ({ container }) => (container ?? '').slice(0, 12),
    memoryTrouble,
    lastLines,
    remove,
    sweep,
  })

  async function probe(): Promise<ProbeOutcome> {
    // The server's own program runs in the containers, which are always Linux.
    if (process.platform !== 'linux')
      return { kind: 'missing', problem: 'The container driver needs Linux.', install: null }
    const outcome = await findEngine(options.sockets)
    if (outcome.kind === 'none') {
      found = null
      const at = outcome.tried.length > 0 ? ` ${outcome.tried.join(', ')} exists but does not answer.` : ''
      const problem = `No container engine answers at ${options.sockets.join(' or ') || 'any socket'}.${at}`
      return { kind: 'missing', problem, install: 'apt-get install -y docker.io' }
    }
    const { engine } = outcome
    if (!engine.isRootless && process.getuid?.() !== 0)
      return {
        kind: 'missing',
        problem: `The engine at ${engine.socket} runs as root but this server does not, so the server could not open the sandboxes' sockets. Use a rootless engine of this user, or the local driver.`,
        install: null,
      }
    if (Buffer.byteLength(socketIn(runRoot, 'x'.repeat(36))) >= socketPathMax)
      return {
        kind: 'missing',
        problem: `The path of the state folder is too long for sockets: ${stateDir}`,
        install: null,
      }
    found = engine
    const warnings = engine.isRootless
      ? []
      : [
          "Root in a container is this machine's root user without its privileges. For stronger isolation, turn on userns-remap of the engine or use the local driver.",
        ]
    return { kind: 'ready', warnings, missingLimits: await missingLimits(engine) }
  }

  /** Requested once per engine, since its kernel limits do not change. */
  async function missingLimits(engine: Engine): Promise<MissingLimit[]> {
    if (lacking?.engine === engine.socket) return lacking.missing
    const info = await engine.json<{ MemoryLimit?: boolean; CpuCfsQuota?: boolean; PidsLimit?: boolean }>(
      'GET',
      '/info',
    )
    const limits = { memory: info.MemoryLimit, cpu: info.CpuCfsQuota, processes: info.PidsLimit }
    const missing = (Object.keys(limits) as MissingLimit[]).filter((limit) => limits[limit] === false)
    lacking = { engine: engine.socket, missing }
    return missing
  }

  async function examine(): Promise<Finding[]> {
    const probed = await probe()
    if (probed.kind === 'missing') return [missing('engine', probed.problem, probed.install)]
    const engine = found!
    const info = await engine.json<{
      CgroupVersion?: string
      Driver?: string
      MemoryLimit?: boolean
      PidsLimit?: boolean
      SecurityOptions?: string[]
    }>('GET', '/info')
    const isRemapped = engine.isRootless || (info.SecurityOptions?.some((option) => option.includes('userns')) ?? false)
    const isLimited = info.MemoryLimit !== false && info.PidsLimit !== false
    return [
      good(
        'engine',
        `${engine.kind} ${engine.version} at ${engine.socket}, storage by ${info.Driver ?? 'its own choice'}`,
      ),
      isRemapped
        ? good('users', "root in a container is not this machine's root")
        : weak(
            'users',
            "root in a container is this machine's root user, without its privileges",
            'dockerd --userns-remap=default',
          ),
      isLimited
        ? good(
            'limits',
            `memory, processes, and CPU time by control groups v${info.CgroupVersion ?? '1'}; each writable folder by its size`,
          )
        : weak('limits', 'the engine cannot limit memory or processes on this machine'),
      good('system calls', 'a filter blocks namespaces, mounts, keys, bpf, io_uring, and unusual sockets'),
      good('network', 'none; the service and allowed hosts through Unix sockets'),
      good(
        'images',
        `built from this machine's own programs, or from a project's Dockerfile, whose commands have ${options.buildNetwork === 'default' ? "the engine's" : 'no'} network`,
      ),
    ]
  }

  async function imageFor(engine: Engine, spec: SandboxSpec, signal: AbortSignal): Promise<string> {
    if (spec.image?.kind === 'built')
      return ensureProjectImage(engine, spec.image, options.buildNetwork ?? 'none', signal)
    // Concurrent creates share one build; after a failure the next create tries again.
    baseImage ??= ensureBaseImage(engine, [options.svcBinary, options.runtimeBinary]).catch((error: unknown) => {
      baseImage = null
      throw error
    })
    const image = await baseImage
    if (await engine.has(`/images/${image}/json`)) return image
    // The image was deleted from the engine.
    baseImage = null
    return ensureBaseImage(engine, [options.svcBinary, options.runtimeBinary])
  }

  async function start(entry: Live, spec: SandboxSpec, { signal, untilAnswers }: StartOptions): Promise<void> {
    const { sandboxId } = spec
    const outcome = await probe()
    if (outcome.kind === 'missing') throw noIsolation(outcome)
    const engine = found!
    const image = await imageFor(engine, spec, signal)
    if (signal.aborted || entry.stopping) throw aborted()
    chmodSync(dirname(prepareFolder(sandboxId)), 0o700)
    const profile = seccompProfile()
    const file = join(stateDir, 'seccomp.json')
    writeFileSync(file, profile)
    const absolute = (path: string | null | undefined) => (path ? resolve(path) : null)
    const config = containerConfig(
      { ...spec, relaySocket: absolute(spec.relaySocket), egressSocket: absolute(spec.egressSocket) },
      {
        image,
        leaseSeconds,
        labels: { [labelOf]: sandboxId, [limitsLabel]: JSON.stringify(spec.limits), 'svc.server': owner },
        runFolder: join(runRoot, sandboxId),
        svcBinary: resolve(options.svcBinary),
        runtimeBinary: resolve(options.runtimeBinary),
        seccomp: engine.kind === 'podman' ? file : profile,
      },
    )
    const name = `svc-${owner.slice(0, 8)}-${sandboxId}`
    const made = await engine.json<{ Id: string }>('POST', `/containers/create?name=${name}`, { body: config })
    entry.container = made.Id
    if (entry.stopping) throw aborted()
    if (leaseSeconds === 0) entry.input = await engine.holdInput(made.Id)
    await (await engine.request('POST', `/containers/${made.Id}/start`)).arrayBuffer()
    void follow(engine, entry, made.Id)
    await untilAnswers()
  }

  function prepareFolder(sandboxId: string): string {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    mkdirSync(runRoot, { recursive: true, mode: 0o700 })
    const folder = join(runRoot, sandboxId)
    mkdirSync(folder, { mode: 0o755 })
    return folder
  }

  /** Waits until the engine reports the container's end. */
  async function follow(engine: Engine, entry: Live, container: string): Promise<void> {
    let end = await waitForEnd(engine, container)
    while (end === 'cut' && !entry.stopping) {
      await new Promise((again) => setTimeout(again, 500))
      end = await waitForEnd(engine, container)
    }
    const how =
      typeof end === 'string'
        ? 'for an unknown reason'
        : end > 128
          ? `with signal ${end - 128}`
          : `with exit code ${end}`
    await lifecycle.ended(entry, how)
  }

  async function memoryTrouble(entry: Live): Promise<string | null> {
    if (entry.container === null || found === null) return null
    // A container's state covers only its first process; events cover the others.
    const filters = encodeURIComponent(JSON.stringify({ container: [entry.container], event: ['oom'] }))
    const now = (Date.now() / 1000).toFixed(3)
    const events = await found
      .request('GET', `/events?since=${entry.madeAt}&until=${now}&filters=${filters}`)
      .then((reply) => reply.text())
      .catch(() => '')
    return events.trim() === '' ? null : memorySentence(entry.spec.limits)
  }

  async function lastLines({ container }: Live): Promise<string> {
    if (container === null || found === null) return ''
    const path = `/containers/${container}/logs?stdout=1&stderr=1&tail=5`
    const bytes = await found
      .request('GET', path)
      .then(async (reply) => Buffer.from(await reply.arrayBuffer()))
      .catch(() => Buffer.alloc(0))
    return plainLines(demultiplexed(bytes))
  }

  async function endedEarly(entry: Live): Promise<Error> {
    const { State } = await found!.json<{ State: { ExitCode: number } }>('GET', `/containers/${entry.container}/json`)
    const output = await lastLines(entry)
    return new SandboxError('boot-failed', `The container ended with exit code ${State.ExitCode}. ${output}`.trim())
  }

  async function remove({ container, input, spec }: Live): Promise<void> {
    if (container !== null && found !== null) await removeContainer(found, container)
    input?.destroy()
    await lifecycle.removeFolder(spec.sandboxId)
  }

  async function ownContainers(engine: Engine): Promise<OwnContainer[]> {
    const filters = encodeURIComponent(JSON.stringify({ label: [`svc.server=${owner}`] }))
    return engine.json('GET', `/containers/json?all=1&filters=${filters}`)
  }

  async function leftBehind() {
    const outcome = await probe()
    if (outcome.kind !== 'ready' || found === null || leaseSeconds === 0) return []
    const containers = await ownContainers(found)
    return containers.flatMap(({ Id, Labels, State, Created }) => {
      const limits = Labels[limitsLabel]
      if (State !== 'running' || limits === undefined) return []
      const own = { container: Id, madeAt: Created, input: null }
      return [{ sandboxId: Labels[labelOf] ?? '', limits: JSON.parse(limits) as SandboxLimits, own }]
    })
  }

  async function sweep(isLive: (sandboxId: string) => boolean): Promise<void> {
    const outcome = await probe()
    if (outcome.kind !== 'ready' || found === null) return
    for (const { Id, Labels } of await ownContainers(found))
      if (!isLive(Labels[labelOf] ?? '')) await removeContainer(found, Id)
  }

  return { ...lifecycle, name: 'container', probe, examine }
}

/**
 * The exit code of the container. `cut`: the request ended before the container did, because the engine restarts or because
 * fetch gives up after five minutes without a byte.
 */
async function waitForEnd(engine: Engine, container: string): Promise<number | 'removed' | 'cut'> {
  try {
    const { StatusCode } = await engine.json<{ StatusCode: number }>('POST', `/containers/${container}/wait`)
    return StatusCode
  } catch (error) {
    return error instanceof EngineError && error.status === 404 ? 'removed' : 'cut'
  }
}

async function removeContainer(engine: Engine, container: string): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    // 404: already removed. 409: another removal is in progress.
    const path = `/containers/${container}?force=true&v=true`
    const reply = await engine.request('DELETE', path, { accept: [404, 409] })
    await reply.arrayBuffer()
    if (reply.status !== 409) return
    if (!(await engine.has(`/containers/${container}/json`))) return
    if (Date.now() > deadline) throw new EngineError(409, `The engine did not remove the container ${container}.`)
    await new Promise((again) => setTimeout(again, 20))
  }
}

function explain(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error
  const what = error instanceof Error ? error.message : String(error)
  if (/no space left/i.test(what) || (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return new SandboxError('no-space', 'The disk is full.', { hint: 'Free some disk space.', cause: error })
  return new SandboxError('boot-failed', `The sandbox did not start: ${what}`, { cause: error })
}

/** Without a terminal the engine frames output: eight bytes per frame, the last four of which are the length. */
function demultiplexed(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at + 8 <= bytes.length;) {
    const size = bytes.readUInt32BE(at + 4)
    text += bytes.toString('utf8', at + 8, at + 8 + size)
    at += 8 + size
  }
  return text
}
