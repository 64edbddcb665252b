/**
 * A driver for tests that need sessions but no isolation. Each sandbox is an HTTP server in this process, on a Unix
 * socket, that answers like a daemon with an agent runtime. It enforces the daemon's rules (authentication, one
 * conversation, a prompt id runs once) and passes the conformance suite.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  type ProbeOutcome,
  type Sandbox,
  type SandboxDriver,
  SandboxError,
  type SandboxErrorKind,
  type SandboxSpec,
} from '../driver.ts'
import { createExits } from '../exits.ts'
import { noIsolation, refuseBadNames } from '../spec.ts'
import type { OnApp } from './fake-app.ts'
import type { FakeQuestions } from './fake-questions.ts'
import { type FakeAttachment, type FakeDaemon, type FakePrompt, startFakeDaemon } from './fake-daemon.ts'

interface Refused {
  code: string
  message: string
}

export interface FakeDriverOptions {
  /** The agent's answer to a prompt; by default the prompt itself. It may do real work first. */
  onPrompt?: (prompt: FakePrompt) => string | Promise<string>
  /** The same in pieces; each next piece is requested after the last was sent. */
  onStream?: (prompt: FakePrompt) => AsyncIterable<string>
  /** Makes the daemon reject a prompt; by default it accepts all. */
  refuse?: (prompt: FakePrompt) => Refused | null
  /** Makes the daemon reject an attachment; by default it accepts all. */
  refuseAttachment?: (body: Record<string, unknown>) => Refused | null
  /** Makes the daemon's refresh fail; by default it succeeds. */
  refuseRefresh?: () => Refused | null | Promise<Refused | null>
  /** A program on a port of the sandbox; null means that nothing listens there. */
  onPort?: (port: number, req: Request) => Response | null | Promise<Response | null>
  /** The answer to `POST /svc/ports`. By default nothing listens. */
  ports?: () => number[]
  /** The work tree: the answer to `POST /svc/files`. By default it is empty. */
  onFiles?: (path: string) => unknown
  /** The behavior of a deployed app; by default it runs. */
  onApp?: OnApp
  /** The idle runtime sleeps; whatever needs it waits for `wake`. Null, and by default: it is awake. */
  asleep?: (sandboxId: string) => { ms: number; wake: () => Promise<void> } | null
  /** Time from creation to `ready`. */
  bootMs?: number
  /** Delay before each answer of the daemon. */
  answerMs?: number
  /** Called with the path of each request, to hold back its answer. */
  around?: (path: string, answer: () => Promise<Response>) => Promise<Response>
  /** Sandboxes go on when their server closes, for another one with the same driver. Read when the server is made. */
  outlives?: boolean
  isElsewhere?: boolean
  /** Every sandbox ends by itself after this time. */
  exitAfterMs?: number
}

export interface FakeDriver extends SandboxDriver {
  /** Mutable: a test may change it halfway. */
  options: FakeDriverOptions
  /** Each entry makes one of the next creates fail. */
  readonly failures: SandboxErrorKind[]
  probeOutcome: ProbeOutcome
  /** Makes the sandbox end by itself. */
  crash(sandboxId: string, reason?: string): Promise<void>
  /** The spec and the requests of a sandbox, during its life and after. */
  seen(sandboxId: string): {
    spec: SandboxSpec
    prompts: FakePrompt[]
    attachments: FakeAttachment[]
    env: Record<string, string>
    refreshes: Record<string, unknown>[]
  } | null
  /** The agent's questions in that sandbox. */
  questions(sandboxId: string): FakeQuestions
  /** Ends the event streams of that sandbox. */
  cutEvents(sandboxId: string): void
  /** The runtime of that sandbox dies while its agent runs a command, and starts again. */
  killRuntime(sandboxId: string): void
  /** Ends every sandbox and removes the folder of sockets. */
  close(): Promise<void>
}

interface Entry {
  sandbox: Sandbox
  daemon: FakeDaemon | null
  timer: ReturnType<typeof setTimeout> | null
  giveUp: AbortController
}

const failureMessages: Record<SandboxErrorKind, [message: string, hint: string | null]> = {
  'no-isolation': ['bubblewrap is not installed.', 'apt-get install -y bubblewrap'],
  'no-space': ['The disk is full.', 'Free some disk space.'],
  'boot-failed': ['The sandbox did not start: it was told to fail.', null],
  aborted: ['The sandbox was stopped while it started.', null],
  unreached: ['The cluster does not answer.', null],
}

export function createFakeDriver(options: FakeDriverOptions = {}): FakeDriver {
  // Short, since a socket path may have at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'svc-fake-'))
  const entries = new Map<string, Entry>()
  const specs = new Map<string, SandboxSpec>()
  const daemons = new Map<string, FakeDaemon>()
  const exits = createExits()
  let made = 0

  async function end(sandboxId: string): Promise<boolean> {
    const entry = entries.get(sandboxId)
    if (entry === undefined) return false
    entries.delete(sandboxId)
    entry.giveUp.abort()
    if (entry.timer !== null) clearTimeout(entry.timer)
    await entry.daemon?.stop()
    rmSync(entry.sandbox.daemonSocket, { force: true })
    return true
  }

  async function crash(sandboxId: string, reason = 'The sandbox ended by itself with exit code 1.'): Promise<void> {
    if (entries.get(sandboxId)?.daemon && (await end(sandboxId))) exits.emit({ sandboxId, reason })
  }

  async function create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    refuseBadNames(spec)
    const { sandboxId } = spec
    if (entries.has(sandboxId)) throw new SandboxError('boot-failed', `Sandbox ${sandboxId} already exists.`)
    const failure = driver.failures.shift()
    if (failure !== undefined) throw failed(failure)
    if (driver.probeOutcome.kind === 'missing') throw noIsolation(driver.probeOutcome)
    const socket = join(folder, `${++made}.sock`)
    const giveUp = new AbortController()
    const sandbox = { sandboxId, externalId: `fake-${made}`, daemonSocket: socket }
    const entry: Entry = { sandbox, daemon: null, timer: null, giveUp }
    entries.set(sandboxId, entry)
    specs.set(sandboxId, spec)
    // A real create takes time, so that an abort can interrupt it.
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (signal.aborted || giveUp.signal.aborted) {
      await end(sandboxId)
      throw failed('aborted')
    }
    entry.daemon = startFakeDaemon({ socket, spec, options: () => driver.options })
    daemons.set(sandboxId, entry.daemon)
    const { exitAfterMs } = driver.options
    if (exitAfterMs !== undefined) entry.timer = setTimeout(() => void crash(sandboxId), exitAfterMs)
    return sandbox
  }

  const driver: FakeDriver = {
    name: 'fake',
    outlives: options.outlives ?? false,
    isElsewhere: options.isElsewhere ?? false,
    options,
    failures: [],
    probeOutcome: { kind: 'ready', warnings: [], missingLimits: [] },
    probe: async () => driver.probeOutcome,
    create,
    crash,
    async find(sandboxId) {
      const entry = entries.get(sandboxId)
      return entry?.daemon ? entry.sandbox : null
    },
    async list() {
      return [...entries.values()].filter((entry) => entry.daemon !== null).map((entry) => entry.sandbox)
    },
    async stop(sandboxId) {
      await end(sandboxId)
    },
    memoryTrouble: async () => null,
    examine: async () => [],
    onExit: exits.onExit,
    // Nothing survives this process.
    adopt: async () => [],
    sweep: async () => {},
    seen(sandboxId) {
      const spec = specs.get(sandboxId)
      if (spec === undefined) return null
      const daemon = daemons.get(sandboxId)
      const { prompts = [], attachments = [], refreshes = [] } = daemon ?? {}
      return { spec, prompts, attachments, env: daemon?.env() ?? spec.env, refreshes }
    },
    questions(sandboxId) {
      const daemon = daemons.get(sandboxId)
      if (daemon === undefined) throw new Error(`No sandbox had the id ${sandboxId}.`)
      return daemon.questions
    },
    cutEvents(sandboxId) {
      daemons.get(sandboxId)?.cutEvents()
    },
    killRuntime(sandboxId) {
      daemons.get(sandboxId)?.killRuntime()
    },
    async close() {
      await Promise.all([...entries.keys()].map(end))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return driver
}

function failed(kind: SandboxErrorKind): SandboxError {
  const [message, hint] = failureMessages[kind]
  return new SandboxError(kind, message, hint === null ? {} : { hint })
}
