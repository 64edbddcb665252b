/** The interface of a sandbox driver, which knows no session, project, or database. */
import type { Finding } from './finding.ts'

export interface SandboxSpec {
  /** Chosen by the caller and never reused; names the sandbox's folders, cgroups, and labels. */
  sandboxId: string
  /**
   * Environment of PID 1 (svc-entrypoint) and the daemon. Keys match ^[A-Za-z_][A-Za-z0-9_]*$; values contain no NUL.
   */
  env: Record<string, string>
  limits: SandboxLimits
  /**
   * Unix socket on the host behind the sandbox's relay on 127.0.0.1:61080 (API, git gateway, model gateway); null for
   * a sandbox that does not reach the service. It is called relay.sock and alone in its folder, which the sandbox sees:
   * a later server that listens at the same path serves the same sandbox. Every sandbox may connect to it, so only the
   * server's user may enter the folder above.
   */
  relaySocket: string | null
  /** The same for the egress proxy, called egress.sock, which the sandbox reaches at 127.0.0.1:61081. */
  egressSocket?: string | null
  /** The project's own image, if the driver supports images of its kind; otherwise the driver uses its default. */
  image?: ProjectImage | null
}

export type ProjectImage = BuiltImage | NamedImage

/** In a registry that the nodes reach. */
export interface NamedImage {
  kind: 'named'
  reference: string
}

export interface BuiltImage {
  kind: 'built'
  /** Lower-case hexadecimal. Equal content has an equal key, so an image is built once. */
  key: string
  /** Path of the Dockerfile within the context. */
  dockerfile: string
  /** The build context as a tar. Called only when the image must be built. */
  context(): Promise<ReadableStream<Uint8Array>>
}

export interface SandboxLimits {
  memoryBytesMax: number
  /** CPU cores; fractions are allowed. */
  cpuMax: number
  processesMax: number
  /** Total size of one sandbox's writable file systems. */
  diskBytesMax: number
}

export interface Sandbox {
  sandboxId: string
  /** The driver's own name for the sandbox (a pid, a container id), for logs and the sandbox record. */
  externalId: string
  /** Unix socket where the daemon serves HTTP. */
  daemonSocket: string
}

/** Reported once per sandbox. `reason` is a sentence for people: exit code or signal and PID 1's last lines. */
export interface SandboxExit {
  sandboxId: string
  reason: string
}

/** Resources that this machine cannot limit. */
export type MissingLimit = 'memory' | 'cpu' | 'processes'

export type ProbeOutcome =
  | { kind: 'ready'; warnings: string[]; missingLimits: MissingLimit[] }
  /** `install` is a command that fixes the problem, if one exists. */
  | { kind: 'missing'; problem: string; install: string | null }

export interface SandboxDriver {
  readonly name: string
  /**
   * Whether sandboxes go on without their server, until the next one adopts them. Otherwise they end with it, even
   * with one that is killed.
   */
  readonly outlives: boolean
  /** Whether sandboxes run on other machines, whose load and memory this one does not see. */
  readonly isElsewhere: boolean
  /** Whether this machine can isolate sandboxes. Runs at server start and before each create. */
  probe(): Promise<ProbeOutcome>
  /**
   * The same in parts, for people: what isolates sandboxes here, what is weaker than it could be, and how to fix it.
   */
  examine(): Promise<Finding[]>
  /** Resolves once the daemon answers `GET /svc/health`. On failure it cleans up and throws a SandboxError. */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>
  /** The live sandbox with that id, or null. */
  find(sandboxId: string): Promise<Sandbox | null>
  /** Idempotent: ends every process and removes every folder, mount, and cgroup of the sandbox. */
  stop(sandboxId: string): Promise<void>
  /** Every live sandbox of this driver. */
  list(): Promise<Sandbox[]>
  /** "out of memory (limit 4 GiB, …)" when the kernel killed processes of this live sandbox, otherwise null. */
  memoryTrouble(sandboxId: string): Promise<string | null>
  /** Subscribes to sandboxes that end by themselves (not by `stop`). Returns the unsubscriber. */
  onExit(listener: (exit: SandboxExit) => void): () => void
  /** Takes over the live sandboxes of an earlier server. Runs once at start, before the sweep. */
  adopt(): Promise<Sandbox[]>
  /** Removes what a killed server left behind, except for live sandboxes. Runs once at start, before the first create. */
  sweep(): Promise<void>
  /**
   * Ends the sandboxes of a server that is gone for good, by the id of its data folder. Only where they go on without its
   * machine.
   */
  endOf?(folderId: string): Promise<void>
}

/** `unreached`: what runs the sandboxes does not answer at the moment. */
export type SandboxErrorKind = 'no-isolation' | 'no-space' | 'boot-failed' | 'aborted' | 'unreached'

export class SandboxError extends Error {
  readonly kind: SandboxErrorKind
  /** A command or step that fixes the problem, if one exists. */
  readonly hint: string | null
  constructor(kind: SandboxErrorKind, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'SandboxError'
    this.kind = kind
    this.hint = options.hint ?? null
  }
}
