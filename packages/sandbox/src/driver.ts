/** What every sandbox driver does. A driver knows no session, no project and no database: ids and values come in a SandboxSpec. */
import type { Finding } from './finding.ts'

export interface SandboxSpec {
  /** Chosen by the caller, unique for ever; names the sandbox's folders, cgroups and labels. */
  sandboxId: string
  /** Environment of PID 1 (svc-entrypoint) and, less nothing, of the daemon. Keys match ^[A-Za-z_][A-Za-z0-9_]*$, values hold no NUL. */
  env: Record<string, string>
  limits: SandboxLimits
  /** Unix socket on the host that answers what the sandbox sends to its relay on 127.0.0.1:61080 (API, git gateway, model gateway); null for a sandbox that has nothing to say to the service. */
  relaySocket: string | null
  /** Unix socket on the host that answers as an HTTP proxy what the sandbox sends to 127.0.0.1:61081; none, no way out. */
  egressSocket?: string | null
  /** An image of the project's own, where the driver has images; null or nothing is the driver's own. */
  image?: ProjectImage | null
}

export interface ProjectImage {
  /** Lower-case hexadecimal; the same for the same content, so that it is built once. */
  key: string
  /** Path of the Dockerfile in the context. */
  dockerfile: string
  /** The files it is built from, as a tar. Asked for only when there is something to build. */
  context(): Promise<ReadableStream<Uint8Array>>
}

export interface SandboxLimits {
  memoryBytesMax: number
  /** Whole cores, fractions allowed. */
  cpuMax: number
  processesMax: number
  /** Size of the writable file systems of one sandbox. */
  diskBytesMax: number
}

export interface Sandbox {
  sandboxId: string
  /** The driver's own name for it (a pid, a container id), for logs and the sandbox record. */
  externalId: string
  /** Unix socket on which the daemon serves HTTP. */
  daemonSocket: string
}

/** How a sandbox ended, once. `reason` is a sentence for a person: exit code or signal and the last lines PID 1 wrote. */
export interface SandboxExit {
  sandboxId: string
  reason: string
}

/** What a sandbox may use without end on this machine. */
export type MissingLimit = 'memory' | 'cpu' | 'processes'

export type ProbeOutcome =
  | { kind: 'ready'; warnings: string[]; missingLimits: MissingLimit[] }
  /** `install` is the one command that mends it, when there is one. */
  | { kind: 'missing'; problem: string; install: string | null }

export interface SandboxDriver {
  readonly name: string
  /** Whether this machine can isolate a sandbox now. Asked at server start and before each create: no isolation, no sandbox. */
  probe(): Promise<ProbeOutcome>
  /** The same in parts, for a person: what holds the walls here, what is weaker than it could be, and what mends it. */
  examine(): Promise<Finding[]>
  /** Resolves once the daemon's socket answers `GET /svc/health`. On failure everything it made is gone again. Throws SandboxError. */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>
  /** The living sandbox of that id, or null. */
  find(sandboxId: string): Promise<Sandbox | null>
  /** Idempotent: ends every process and removes every folder, mount and cgroup of the sandbox. */
  stop(sandboxId: string): Promise<void>
  /** Every living sandbox this driver knows of. */
  list(): Promise<Sandbox[]>
  /** "out of memory (limit 4 GiB, …)" when the kernel has ended processes of this living sandbox for that, else null. */
  memoryTrouble(sandboxId: string): Promise<string | null>
  /** Calls back when a sandbox ends by itself (not by `stop`). Returns the unsubscriber. */
  onExit(listener: (exit: SandboxExit) => void): () => void
  /** Removes what a killed server left behind (folders, cgroups, sockets, processes). Run once at start, before the first create. */
  sweep(): Promise<void>
}

export type SandboxErrorKind = 'no-isolation' | 'no-space' | 'boot-failed' | 'aborted'

export class SandboxError extends Error {
  readonly kind: SandboxErrorKind
  /** The line that mends it, when there is one. */
  readonly hint: string | null
  constructor(kind: SandboxErrorKind, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'SandboxError'
    this.kind = kind
    this.hint = options.hint ?? null
  }
}
