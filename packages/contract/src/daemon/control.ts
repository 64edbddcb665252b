/** Shared by the server and the daemon of a sandbox: ports, sockets, environment names, control bodies. Loads no zod, because every session waits for the daemon to start. */

/** SVC_SERVICE_PORT: the daemon's own port. */
export const daemonPort = 8000
export const runtimePort = 4096
/** On loopback inside the sandbox. Each connection is piped to the relay socket of the host. */
export const relayPort = 61080
/** On loopback inside the sandbox: an HTTP proxy to the hosts that the project allows. */
export const egressPort = 61081
/** Where a sandbox on another machine waits for its server. */
export const linkPort = 61082
/** The sandbox itself listens on these ports, so no preview leads there. */
export const reservedPorts: readonly number[] = [daemonPort, runtimePort, relayPort, egressPort, linkPort]
export const workspaceDir = '/workspace'
export const runtimeHome = '/opt/svc/home'
export const runDir = '/run/svc'
export const daemonSocketPath = `${runDir}/daemon.sock`
/** The host's end of the relay. The driver mounts its folder, so that the socket of the next server appears in it. */
export const relaySocketPath = `${runDir}/relay/relay.sock`
/** The host's end of the egress proxy. Each sandbox has its own, which identifies it. The folder is absent without a proxy. */
export const egressSocketPath = `${runDir}/egress/egress.sock`
export const agentUid = 1000

export type { BootEnvironment } from './sandbox-environment.ts'

/** Only for the daemon: `1` while the sandbox is in the warm pool. */
export const warmName = 'SVC_SANDBOX_WARM'

export type BootStep = 'listen' | 'clone' | 'configure' | 'setup' | 'runtime' | 'prime' | 'claim' | 'prompt'

export interface DaemonHealth {
  daemon: 'ok'
  /** `warm`: prepared, and not claimed by a session yet. */
  status: 'booting' | 'warm' | 'ready' | 'failed'
  runtime: 'starting' | 'ready' | 'stopped' | 'failed'
  repository: string
  branch: string
  commit: string | null
  generation: number
  uptime_ms: number
  /** `at_ms` counts from the daemon's start; `ms` is null while the step runs. `failed` is there only on a step that failed. */
  boot: { step: BootStep; at_ms: number; ms: number | null; failed?: true }[]
  /** The conversation of this sandbox, once it is open. The transcript follower reads it. */
  runtime_session_id: string | null
  error: string | null
  /** Counts the starts of the runtime: it starts again after a crash and for a refresh. */
  runtime_starts: number
  /** How long the idle runtime has been frozen (`ready`) or stopped (`stopped`); null when it is awake. No process runs meanwhile that could change a file. */
  runtime_asleep_ms: number | null
}

export interface PromptBody {
  text: string
  /** The prompt's id in the service. A prompt that is delivered twice runs once. */
  prompt_id?: string
  /** Context for the agent. The text holds only what the person wrote. */
  note?: string
  /** The agent of this prompt. Without it, the sandbox's. */
  agent?: string
  /** The model of this prompt; null is the agent's or the default one. Without it, the sandbox's. */
  model?: string | null
}
/** POST /svc/attachment: a file for the prompt that follows. */
export interface AttachmentBody {
  attachment_id: string
  file_name: string
  content_base64: string
}
export interface PromptReply {
  ok: true
  runtime_session_id: string
  /** The start of the agent runtime that took the prompt. Absent in a daemon of an earlier version. */
  runtime_starts?: number | undefined
  /** The runtime had taken the prompt before, so its turn may be over. Absent in a daemon of an earlier version. */
  was_taken?: boolean | undefined
}
export interface RefreshBody {
  /** `[runtime] config_dir` from now on. */
  config_dir?: string
}
export interface RefreshReply {
  ok: true
  before: string
  after: string
}
export interface EnvBody {
  revision: string
  env: Record<string, string>
  /** SVC_PROJECT_SECRET_NAMES from now on: also of secrets that stay out of the sandbox. */
  names?: string[]
}
export interface EnvReply {
  ok: true
  /** Names only. */
  changed: string[]
}

/** POST /svc/ports: what listens on 127.0.0.1 of the sandbox, in ascending order. */
export interface PortsReply {
  ports: number[]
}
export const listeningPortsMax = 1_000

/** Updates the work tree of a warm sandbox to this commit of the default branch. */
export interface FollowBody {
  commit: string
  /** A git credential that only reads this project. */
  credential: string
}
export interface FollowReply {
  ok: true
  commit: string
}

/** A session claims a warm sandbox, which then works as if it had booted for the session. */
export interface ClaimBody {
  /** The part of BootEnvironment that was unknown when the sandbox was made. The rest stays. */
  env: Record<string, string>
  commit: string
}
export interface ClaimReply {
  ok: true
  runtime_session_id: string | null
}

/** POST /svc/wip: the commits the server has, so that the daemon sends only the others, and the size limit. */
export interface SaveWorkRequest {
  /** Commits of the repository: the session branch, its base, the default branch. */
  pushed: string[]
  /** Commits of earlier saves. */
  have: string[]
  message: string
  file_bytes_max: number
  bytes_max: number
}
/** The first line of the answer. A pack follows when the server lacks objects. */
export interface SavedWork {
  /** `clean`: everything is committed and pushed. */
  state: 'clean' | 'saved'
  commit: string | null
  /** The commit that was checked out: the parent of `commit`. */
  base: string | null
  /** Files that differ from `base`, and the first of their paths. */
  files: number
  paths: string[]
  unpushed: number
  /** Sentences about what was left out. */
  notes: string[]
}

/** Only for the daemon: `app` in a sandbox that runs an app instead of an agent, `check` in one that runs a command once. */
export const sandboxKindName = 'SVC_SANDBOX_KIND'

/** The first line of POST /svc/app; the work tree follows as a tar. Called once per sandbox. For a check, `build` is the command, and there is no start command and no port. */
export interface AppSpec {
  slug: string
  commit: string
  /** Shell lines, run in the work tree as the agent's uid. */
  build: string | null
  command: string | null
  /** A folder of the work tree. Set when there is no command. */
  static_dir: string | null
  port: number
  /** From the manifest entry, with secrets filled in. */
  env: Record<string, string>
  build_ms_max: number
  /** The longest time until the app answers on its port. */
  start_ms_max: number
}

export interface AppLine {
  /** Counts every line since the sandbox started, including dropped lines. */
  seq: number
  /** Unix milliseconds. */
  at: number
  stream: 'build' | 'run' | 'svc'
  text: string
}

/** `waiting`: for POST /svc/app. `restarting`: the app ended after it had answered, and starts again after a pause. `done`: a check that passed. */
export type AppProcessState =
  | 'waiting'
  | 'unpacking'
  | 'building'
  | 'starting'
  | 'ready'
  | 'restarting'
  | 'failed'
  | 'done'

/** POST /svc/app/watch: answers on a change, and after `wait_ms` at the latest. */
export interface AppWatchBody {
  after: number
  state: AppProcessState | null
  wait_ms: number
}
export interface AppWatchReply {
  state: AppProcessState
  error: string | null
  starts: number
  /** The exit code of a check's command, once it ended by itself. */
  exit_code: number | null
  lines: AppLine[]
}

export const userContextHeader = 'x-svc-user-context'
export const userContextSecondsMax = 60

export interface UserContext {
  user_id: string
  session_id: string
  generation: number
  role: string
  method: string
  path: string
  /** Unix seconds. */
  iat: number
  exp: number
  jti: string
}

const utf8 = new TextEncoder()

const base64url = (bytes: Uint8Array) => bytes.toBase64({ alphabet: 'base64url', omitPadding: true })

function fromBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return null
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  } catch {
    return null
  }
}

/** The key that signs user contexts. It is derived from the token, so a signature never exposes the token. */
export async function userContextKey(sandboxKey: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey('raw', utf8.encode(sandboxKey), 'HKDF', false, ['deriveKey'])
  return crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(32), info: utf8.encode('svc user context v1') },
    material,
    { name: 'HMAC', hash: 'SHA-256', length: 256 },
    false,
    ['sign', 'verify'],
  )
}

export async function signUserContext(key: CryptoKey, context: UserContext): Promise<string> {
  const payload = base64url(utf8.encode(JSON.stringify(context)))
  const mac = await crypto.subtle.sign('HMAC', key, utf8.encode(payload))
  return `${payload}.${base64url(new Uint8Array(mac))}`
}

/** The context if its signature covers exactly these bytes, otherwise null. The caller checks expiry, method, path and single use. */
export async function readUserContext(key: CryptoKey, header: string): Promise<UserContext | null> {
  const [payload, mac, ...rest] = header.split('.')
  if (!payload || !mac || rest.length > 0 || header.length > 4096) return null
  const macBytes = fromBase64url(mac)
  const payloadBytes = fromBase64url(payload)
  if (macBytes === null || payloadBytes === null) return null
  // Accept one encoding only: a MAC with stray trailing bits is refused, so a header cannot be replayed in another form.
  if (base64url(macBytes) !== mac) return null
  if (!(await crypto.subtle.verify('HMAC', key, macBytes, utf8.encode(payload)))) return null
  try {
    const context: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payloadBytes))
    return typeof context === 'object' && !Array.isArray(context) ? (context as UserContext | null) : null
  } catch {
    return null
  }
}
