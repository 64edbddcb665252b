/**
 * A driver for tests that need sessions and no isolation: every sandbox is an HTTP server in this process, on a Unix
 * socket, that answers as a daemon with an agent runtime behind it would. It keeps the same rules (who may call, one
 * conversation, a prompt id runs once) and nothing of the walls. The conformance suite keeps it honest.
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
  type SandboxExit,
  type SandboxSpec,
} from './driver.ts'
import type { OnApp } from './fake-app.ts'
import type { FakeQuestions } from './fake-questions.ts'
import { type FakeDaemon, type FakePrompt, startFakeDaemon } from './fake-daemon.ts'

export interface FakeDriverOptions {
  /** What the agent says to a prompt; by default the prompt itself. May do real work first, as an agent would. */
  onPrompt?: (prompt: FakePrompt) => string | Promise<string>
  /** The same, written piece by piece; the next piece is asked for once the last was sent. */
  onStream?: (prompt: FakePrompt) => AsyncIterable<string>
  /** Why the daemon does not take a prompt; by default it does. */
  refuse?: (prompt: FakePrompt) => { code: string; message: string } | null
  /** A program on a port of the sandbox; without an answer nothing listens there. */
  onPort?: (port: number, req: Request) => Response | null | Promise<Response | null>
  /** What an app does that is deployed into a sandbox; it runs well by default. */
  onApp?: OnApp
  /** From created to `ready`. */
  bootMs?: number
  /** Added before each of the daemon's answers. */
  answerMs?: number
  /** Every sandbox ends by itself after that long. */
  exitAfterMs?: number
}

export interface FakeDriver extends SandboxDriver {
  /** Mutable: a test makes it slow or talkative halfway. */
  options: FakeDriverOptions
  /** The next creates fail so, one each. */
  readonly failures: SandboxErrorKind[]
  probeOutcome: ProbeOutcome
  /** The sandbox ends by itself, now. */
  crash(sandboxId: string, reason?: string): Promise<void>
  /** What a sandbox was made with and was told, while it lives and after. */
  seen(sandboxId: string): { spec: SandboxSpec; prompts: FakePrompt[]; env: Record<string, string> } | null
  /** The questions of the agent in that sandbox. */
  questions(sandboxId: string): FakeQuestions
  /** Ends the event streams of that sandbox. */
  cutEvents(sandboxId: string): void
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
}

export function createFakeDriver(options: FakeDriverOptions = {}): FakeDriver {
  // Short, because the path of a socket may be no longer than 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'svc-fake-'))
  const entries = new Map<string, Entry>()
  const specs = new Map<string, SandboxSpec>()
  const daemons = new Map<string, FakeDaemon>()
  const listeners = new Set<(exit: SandboxExit) => void>()
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
    if (entries.get(sandboxId)?.daemon && (await end(sandboxId))) {
      for (const listener of listeners) listener({ sandboxId, reason })
    }
  }

  async function create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    refuseBadSpec(spec)
    const { sandboxId } = spec
    if (entries.has(sandboxId)) throw new SandboxError('boot-failed', `Sandbox ${sandboxId} exists already.`)
    const failure = driver.failures.shift()
    if (failure !== undefined) throw failed(failure)
    if (driver.probeOutcome.kind === 'missing') {
      const { problem, install } = driver.probeOutcome
      throw new SandboxError('no-isolation', problem, install === null ? {} : { hint: install })
    }
    const socket = join(folder, `${++made}.sock`)
    const giveUp = new AbortController()
    const sandbox = { sandboxId, externalId: `fake-${made}`, daemonSocket: socket }
    const entry: Entry = { sandbox, daemon: null, timer: null, giveUp }
    entries.set(sandboxId, entry)
    specs.set(sandboxId, spec)
    // A real one takes its time, so that an abort finds it half made here too.
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
    onExit(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    // Nothing of this process outlives it.
    sweep: async () => {},
    seen(sandboxId) {
      const spec = specs.get(sandboxId)
      if (spec === undefined) return null
      const daemon = daemons.get(sandboxId)
      return { spec, prompts: daemon?.prompts ?? [], env: daemon?.env() ?? spec.env }
    },
    questions(sandboxId) {
      const daemon = daemons.get(sandboxId)
      if (daemon === undefined) throw new Error(`There was no sandbox ${sandboxId}.`)
      return daemon.questions
    },
    cutEvents(sandboxId) {
      daemons.get(sandboxId)?.cutEvents()
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

function refuseBadSpec(spec: SandboxSpec): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(spec.sandboxId)) {
    throw new SandboxError('boot-failed', 'A sandbox id is 1 to 64 letters, digits, "-" and "_".')
  }
  for (const [name, value] of Object.entries(spec.env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes('\0')) {
      throw new SandboxError('boot-failed', `${JSON.stringify(name)} cannot be an environment variable.`)
    }
  }
}
