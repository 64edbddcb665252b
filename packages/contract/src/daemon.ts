/** What the server and the daemon inside a sandbox agree on: ports, sockets, environment names, control bodies. Loads no zod: the daemon's start is on the path of every session. */

/** SVC_SERVICE_PORT: the daemon's own port. */
export const daemonPort = 8000
export const runtimePort = 4096
/** On loopback inside the sandbox: each connection is piped to the host's relay socket. */
export const relayPort = 61080
/** On loopback inside the sandbox: an HTTP proxy, by the same way, to the hosts its project allows. */
export const egressPort = 61081
/** The sandbox itself listens on these ports, so no preview leads there. */
export const reservedPorts: readonly number[] = [daemonPort, runtimePort, relayPort, egressPort]
export const workspaceDir = '/workspace'
export const runtimeHome = '/opt/svc/home'
export const runDir = '/run/svc'
export const daemonSocketPath = `${runDir}/daemon.sock`
/** The host's end of the relay, bound into the sandbox by the driver. */
export const relaySocketPath = `${runDir}/relay.sock`
/** The host's end of the way out, one per sandbox: which of them asks is told by the socket. Absent where there is none. */
export const egressSocketPath = `${runDir}/egress.sock`
export const agentUid = 1000

/** Everything the platform injects; secrets of the project come beside it. */
export interface BootEnvironment {
  SVC_PROJECT_ID: string
  SVC_SESSION_ID: string
  SVC_BRANCH_NAME: string
  SVC_HEAD_REF: string
  SVC_REPO_URL: string
  SVC_DEFAULT_BRANCH: string
  SVC_BASE_REF: string
  SVC_SERVICE_PORT: string
  SVC_API_URL: string
  SVC_AGENT_NAME: string
  SVC_RUNTIME_MODEL?: string
  SVC_INITIAL_PROMPT?: string
  SVC_PROJECT_AUTO_CLONE: '1'
  SVC_PROJECT_SECRET_NAMES: string
  SVC_PROJECT_SECRETS_REVISION: string
  SVC_TOKEN: string
  SVC_CLI_TOKEN: string
  SVC_EXECUTOR_TOKEN: string
  SVC_BOOTSTRAP_RUNTIME_SESSION?: '1'
  SVC_LLM_API_KEY?: string
  SVC_LLM_BASE_URL?: string
  SVC_ALT_API_KEY?: string
  SVC_ALT_URL?: string
  /** How the gateway is asked for the session's model; left out where it is the OpenAI shape. */
  SVC_LLM_SHAPE?: 'anthropic'
  /** The configured models and their APIs as JSON, where there is more than one: agents and subagents name them. */
  SVC_LLM_MODELS?: string
  /** Which sandbox this is; the daemon reports it so that a stale one is recognised. */
  SVC_SANDBOX_GENERATION: string
  /** Where the driver puts the work tree when no image bakes it. */
  SVC_WORKSPACE: string
  /** `[runtime] config_dir` of the manifest. */
  SVC_CONFIG_DIR: string
  /** `[runtime] command` of the manifest as a JSON list; `serve --port … --hostname …` is added to it. */
  SVC_RUNTIME_COMMAND?: string
  /** `[sandbox] setup` of the manifest, when it has one. */
  SVC_SANDBOX_SETUP?: string
}

/** Told to the daemon alone: `1` where it waits in the pool for a session to claim it. */
export const warmName = 'SVC_SANDBOX_WARM'

export type BootStep = 'listen' | 'clone' | 'configure' | 'setup' | 'runtime' | 'prime' | 'claim' | 'prompt'

export interface DaemonHealth {
  daemon: 'ok'
  /** `warm`: filled and primed, and waiting for a session to claim it. */
  status: 'booting' | 'warm' | 'ready' | 'failed'
  runtime: 'starting' | 'ready' | 'stopped' | 'failed'
  repository: string
  branch: string
  commit: string | null
  generation: number
  uptime_ms: number
  /** `at_ms` counts from the daemon's start; `ms` is null while the step runs. */
  boot: { step: BootStep; at_ms: number; ms: number | null }[]
  /** The one conversation of this sandbox, once it is open: what a transcript follower looks for. */
  runtime_session_id: string | null
  error: string | null
  /** How often the runtime was started; more than once when it died, or was started again for a refresh. */
  runtime_starts: number
}

export interface PromptBody {
  text: string
  /** The prompt's id at the service: delivered twice, it is run once. */
  prompt_id?: string
}
export interface PromptReply {
  ok: true
  runtime_session_id: string
}
export interface RefreshReply {
  ok: true
  before: string
  after: string
}
export interface EnvBody {
  revision: string
  env: Record<string, string>
}
export interface EnvReply {
  ok: true
  /** Names only. */
  changed: string[]
}

/** Brings the work tree of a warm sandbox to that commit of the default branch. */
export interface FollowBody {
  commit: string
  /** A git credential that reads this project and nothing else. */
  credential: string
}
export interface FollowReply {
  ok: true
  commit: string
}

/** A session takes a warm sandbox: from here on it is that session's, as if it had booted for it. */
export interface ClaimBody {
  /** What of BootEnvironment was not known when it was made; the rest holds as it was given. */
  env: Record<string, string>
  /** Tip of the session branch. */
  commit: string
}
export interface ClaimReply {
  ok: true
  runtime_session_id: string | null
}

/** POST /svc/wip: what the server has, so that only the rest is sent, and what it takes. */
export interface SaveWorkRequest {
  /** Commits of the repository: the session branch, its base, the default branch. */
  pushed: string[]
  /** Commits of earlier saves. */
  have: string[]
  message: string
  file_bytes_max: number
  bytes_max: number
}
/** The first line of its answer; a pack follows when there is something the server has not. */
export interface SavedWork {
  /** `clean`: everything is committed and pushed. */
  state: 'clean' | 'saved'
  commit: string | null
  /** The commit that was checked out: the parent of `commit`. */
  base: string | null
  /** Files that differ from `base`, and the first of their paths. */
  files: number
  paths: string[]
  /** Commits that were not pushed. */
  unpushed: number
  /** What was left out, in words. */
  notes: string[]
}

/** Told to the daemon alone: `app` where no agent works in the sandbox, but one app of the project runs; `check` where a command is run once. */
export const sandboxKindName = 'SVC_SANDBOX_KIND'

/** The first line of POST /svc/app; the files of the work tree follow as a tar. Once a sandbox. Of a check: `build` is its command, there is nothing to start, and no port. */
export interface AppSpec {
  slug: string
  commit: string
  /** Shell lines, run in the work tree as the agent's uid. */
  build: string | null
  command: string | null
  /** A folder of the work tree; set where there is no command. */
  static_dir: string | null
  port: number
  /** As its entry says, secrets filled in. */
  env: Record<string, string>
  build_ms_max: number
  /** How long it may take to answer on its port. */
  start_ms_max: number
}

export interface AppLine {
  /** Counts every line since the sandbox began, also those that are gone by now. */
  seq: number
  /** Unix milliseconds. */
  at: number
  stream: 'build' | 'run' | 'svc'
  text: string
}

/** `waiting`: for POST /svc/app. `restarting`: it answered once, ended, and is started again after a pause. `done`: a check that passed. */
export type AppProcessState =
  | 'waiting'
  | 'unpacking'
  | 'building'
  | 'starting'
  | 'ready'
  | 'restarting'
  | 'failed'
  | 'done'

/** POST /svc/app/watch: answers when there is something new, and after `wait_ms` anyway. */
export interface AppWatchBody {
  after: number
  state: AppProcessState | null
  wait_ms: number
}
export interface AppWatchReply {
  state: AppProcessState
  /** Why it is restarting or failed, with its last words. */
  error: string | null
  starts: number
  /** Of a check's command, once it ended by itself. */
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

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

function fromBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return null
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  } catch {
    return null
  }
}

/** The key that signs user contexts. Derived, so that a signature never exposes what the token itself could be used for. */
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

/** The context if its signature holds over the exact bytes sent, else null. Expiry, method, path and single use are the caller's to check. */
export async function readUserContext(key: CryptoKey, header: string): Promise<UserContext | null> {
  const [payload, mac, ...rest] = header.split('.')
  if (!payload || !mac || rest.length > 0 || header.length > 4096) return null
  const macBytes = fromBase64url(mac)
  const payloadBytes = fromBase64url(payload)
  if (macBytes === null || payloadBytes === null) return null
  // One byte string has one spelling: a MAC with stray trailing bits is refused, so a header cannot be replayed in another form.
  if (base64url(macBytes) !== mac) return null
  if (!(await crypto.subtle.verify('HMAC', key, macBytes, utf8.encode(payload)))) return null
  try {
    const context: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payloadBytes))
    return typeof context === 'object' && !Array.isArray(context) ? (context as UserContext | null) : null
  } catch {
    return null
  }
}
