/** The environment a sandbox boots with, read once. Nothing else in the daemon looks at process.env. */
import { agentUid, runtimeHome, warmName, workspaceDir } from '@svc/contract/daemon'
import { bareModelName } from '@svc/contract/model-names'

export type ModelShape = 'openai' | 'anthropic'

export interface DaemonConfig {
  projectId: string
  sessionId: string
  branch: string
  defaultBranch: string
  baseRef: string
  repoUrl: string
  apiUrl: string
  /** The runtime's agent; null lets the runtime choose. */
  agentName: string | null
  /** The model that was chosen; null is the server's default. */
  model: string | null
  /** Another program in place of the agent runtime that comes along. */
  runtimeCommand: string[] | null
  initialPrompt: string | null
  openSessionAtBoot: boolean
  clone: boolean
  /** A command for the fresh work tree, before the runtime starts. */
  setup: string | null
  /** Waits in the pool for a session that claims it. */
  warm: boolean
  token: string
  generation: number
  configDir: string
  llm: { baseUrl: string; apiKey: string; shape: ModelShape }
  /** The configured models, which agents and subagents may name; empty where there is one. */
  models: Record<string, ModelShape>
  /** Everything platform variables say, as the agent gets them. */
  platform: Record<string, string>
  /** The project's secrets, as the agent gets them. */
  secrets: Record<string, string>
}

/** How a child runs as the agent. */
export interface AgentIdentity {
  /** Null when there is only one uid here. */
  uid: number | null
  /** How many processes that uid may have; null for no limit of our own. */
  processesMax: number | null
}

/** Names that change how programs start, the daemon and its git among them. The secrets API refuses them; this is the second lock. */
const loaderNames =
  /^(LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|BUN_.*|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|BASH_ENV|ENV|IFS|GCONV_PATH|LOCPATH|HOSTALIASES|RES_OPTIONS|OPENSSL_.*|SSL_CERT_.*)$/i
/** Beyond those, names that only this daemon decides for the agent. */
const ownNames =
  /^(PATH|HOME|SHELL|PWD|OLDPWD|SHLVL|_|LANG|TERM|USER|LOGNAME|HOSTNAME|GIT_.*|OPENCODE_.*|RUNTIME_CONFIG_DIR)$/i
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/

export function dropLoaderNames(env: Record<string, string | undefined>): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !loaderNames.test(name)) kept[name] = value
  }
  return kept
}

/** Why a name cannot be a secret here, or null. */
export function refuseSecretName(name: string): string | null {
  if (!namePattern.test(name)) return `${JSON.stringify(name)} is no name of an environment variable.`
  if (/^SVC_/i.test(name)) return `${name} belongs to the platform.`
  if (loaderNames.test(name) || ownNames.test(name)) return `${name} would change how programs start.`
  return null
}

/** The configuration, or every reason why there is none. */
export function readConfig(env: Record<string, string | undefined>): DaemonConfig | { problems: string[] } {
  const problems: string[] = []
  const needed = (name: string): string => {
    const value = env[name]
    if (value === undefined || value === '') problems.push(`${name} is not set.`)
    return value ?? ''
  }
  const generation = Number(needed('SVC_SANDBOX_GENERATION'))
  if (!Number.isSafeInteger(generation)) problems.push('SVC_SANDBOX_GENERATION is no whole number.')
  const configDir = env['SVC_CONFIG_DIR'] || '.svc/runtime'
  if (configDir.startsWith('/') || configDir.split('/').includes('..')) {
    problems.push('SVC_CONFIG_DIR lies outside the repository.')
  }
  const apiUrl = needed('SVC_API_URL').replace(/\/+$/, '')
  const config: DaemonConfig = {
    projectId: needed('SVC_PROJECT_ID'),
    sessionId: needed('SVC_SESSION_ID'),
    branch: needed('SVC_BRANCH_NAME'),
    repoUrl: needed('SVC_REPO_URL'),
    apiUrl,
    token: needed('SVC_TOKEN'),
    defaultBranch: env['SVC_DEFAULT_BRANCH'] || 'main',
    baseRef: env['SVC_BASE_REF'] || env['SVC_DEFAULT_BRANCH'] || 'main',
    // "default" is how a session without a choice calls it; the runtime has no agent of that name.
    agentName: ['', 'default'].includes(env['SVC_AGENT_NAME'] ?? '') ? null : env['SVC_AGENT_NAME']!,
    model: bareModelName(env['SVC_RUNTIME_MODEL'] ?? '') || null,
    runtimeCommand: readCommand(env['SVC_RUNTIME_COMMAND'], problems),
    initialPrompt: env['SVC_INITIAL_PROMPT'] || null,
    openSessionAtBoot: env['SVC_BOOTSTRAP_RUNTIME_SESSION'] === '1',
    clone: env['SVC_PROJECT_AUTO_CLONE'] === '1',
    setup: env['SVC_SANDBOX_SETUP'] || null,
    warm: env[warmName] === '1',
    generation,
    configDir,
    llm: {
      baseUrl: env['SVC_LLM_BASE_URL'] || env['SVC_ALT_URL'] || `${apiUrl}/llm`,
      apiKey: env['SVC_LLM_API_KEY'] || env['SVC_ALT_API_KEY'] || '',
      shape: env['SVC_LLM_SHAPE'] === 'anthropic' ? 'anthropic' : 'openai',
    },
    models: readModels(env['SVC_LLM_MODELS'], problems),
    platform: {},
    secrets: {},
  }
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name === warmName) continue
    if (name.startsWith('SVC_')) config.platform[name] = value
    else if (refuseSecretName(name) === null) config.secrets[name] = value
  }
  return problems.length > 0 ? { problems } : config
}

function readCommand(json: string | undefined, problems: string[]): string[] | null {
  if (!json) return null
  try {
    const words: unknown = JSON.parse(json)
    if (Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')) return words
  } catch {
    // Said below, as for a list of something else.
  }
  problems.push('SVC_RUNTIME_COMMAND is no list of words.')
  return null
}

function readModels(json: string | undefined, problems: string[]): Record<string, ModelShape> {
  if (!json) return {}
  try {
    const models: unknown = JSON.parse(json)
    if (typeof models === 'object' && models !== null && !Array.isArray(models))
      return Object.fromEntries(
        Object.entries(models).map(([name, shape]) => [name, shape === 'anthropic' ? 'anthropic' : 'openai']),
      )
  } catch {
    // Reported below, as for another kind of value.
  }
  problems.push('SVC_LLM_MODELS has to be an object of model names.')
  return {}
}

/** One uid or two: the driver decides, the kernel tells. */
export function readIdentity(args: string[], uidMap: string): AgentIdentity {
  const at = args.indexOf('--agent-processes')
  const processes = at === -1 ? Number.NaN : Number(args[at + 1])
  const mapsAgent = uidMap.split('\n').some((line) => {
    const [inner, , count] = line.trim().split(/\s+/).map(Number)
    return inner !== undefined && count !== undefined && inner <= agentUid && agentUid < inner + count
  })
  const isRoot = process.getuid?.() === 0
  return {
    uid: isRoot && mapsAgent ? agentUid : null,
    processesMax: Number.isSafeInteger(processes) && processes > 0 ? processes : null,
  }
}

/** Where the daemon puts things. Tests point it elsewhere. */
export interface DaemonPaths {
  workspace: string
  home: string
  /** The daemon's own: readable by the agent, not writable. */
  runtimeDir: string
  /** What later secrets say, for every bash the agent starts. In memory with the rest, not in the folder shared with the host. */
  sessionEnv: string
}

export const sandboxPaths: DaemonPaths = {
  workspace: workspaceDir,
  home: runtimeHome,
  runtimeDir: '/opt/svc/runtime',
  sessionEnv: '/opt/svc/session.env',
}
