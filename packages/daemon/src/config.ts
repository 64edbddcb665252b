/** The boot environment, read once. Only this file of the daemon reads process.env. */
import { attachmentsDir } from '@svc/contract/schemas/attachments'
import { agentUid, runtimeHome, warmName, workspaceDir } from '@svc/contract/daemon/control'
import { isRecord, parseJson } from '@svc/contract/json'
import { bareModelName } from '@svc/contract/schemas/model-names'

type ModelShape = 'openai' | 'anthropic'

export type DaemonConfig = Exclude<ReturnType<typeof readConfig>, { problems: string[] }>

/** How a child process runs as the agent. */
export interface AgentIdentity {
  /** Null when the sandbox has only one uid. */
  uid: number | null
  /** The uid's process limit; null for none. */
  processesMax: number | null
}

/** Names that change how programs start, including the daemon and git. The secrets API also rejects them. */
const loaderNames =
  /^(LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|BUN_.*|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|BASH_ENV|ENV|IFS|GCONV_PATH|LOCPATH|HOSTALIASES|RES_OPTIONS|OPENSSL_.*|SSL_CERT_.*)$/i
/** More names that only the daemon sets for the agent. */
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

/** Why a name cannot be a secret, or null when it can. */
export function refuseSecretName(name: string): string | null {
  if (!namePattern.test(name)) return `${JSON.stringify(name)} is not a valid environment variable name.`
  if (/^SVC_/i.test(name)) return `${name} is reserved for the platform.`
  if (loaderNames.test(name) || ownNames.test(name)) return `${name} would change how programs start.`
  return null
}

export const isOutsideRepository = (folder: string) => folder.startsWith('/') || folder.split('/').includes('..')

/** The configuration, or every problem with it. */
export function readConfig(env: Record<string, string | undefined>) {
  const problems: string[] = []
  const needed = (name: string): string => {
    const value = env[name]
    if (value === undefined || value === '') problems.push(`${name} is not set.`)
    return value ?? ''
  }
  const generation = Number(needed('SVC_SANDBOX_GENERATION'))
  if (!Number.isSafeInteger(generation)) problems.push('SVC_SANDBOX_GENERATION is not an integer.')
  const configDir = env['SVC_CONFIG_DIR'] || '.svc/runtime'
  if (isOutsideRepository(configDir)) {
    problems.push('SVC_CONFIG_DIR is outside the repository.')
  }
  const apiUrl = needed('SVC_API_URL').replace(/\/+$/, '')
  const given = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === warmName ? [] : [[name, value]],
  )
  const config = {
    projectId: needed('SVC_PROJECT_ID'),
    sessionId: needed('SVC_SESSION_ID'),
    branch: needed('SVC_BRANCH_NAME'),
    repoUrl: needed('SVC_REPO_URL'),
    apiUrl,
    token: needed('SVC_TOKEN'),
    defaultBranch: env['SVC_DEFAULT_BRANCH'] || 'main',
    baseRef: env['SVC_BASE_REF'] || env['SVC_DEFAULT_BRANCH'] || 'main',
    // The server sends "default" when the session chose no agent; the runtime has no agent of that name.
    agentName: ['', 'default'].includes(env['SVC_AGENT_NAME'] ?? '') ? null : env['SVC_AGENT_NAME']!,
    /** The chosen model; null for the server's default. */
    model: bareModelName(env['SVC_RUNTIME_MODEL'] ?? '') || null,
    /** Replaces the bundled agent runtime. */
    runtimeCommand: readCommand(env['SVC_RUNTIME_COMMAND'], problems),
    initialPrompt: env['SVC_INITIAL_PROMPT'] || null,
    openSessionAtBoot: env['SVC_BOOTSTRAP_RUNTIME_SESSION'] === '1',
    clone: env['SVC_PROJECT_AUTO_CLONE'] === '1',
    /** Runs in the fresh work tree before the runtime starts. */
    setup: env['SVC_SANDBOX_SETUP'] || null,
    /** The sandbox waits in the pool until a session claims it. */
    warm: env[warmName] === '1',
    generation,
    configDir,
    freezeMs: readSeconds(env['SVC_RUNTIME_FREEZE_SECONDS']),
    stopMs: readSeconds(env['SVC_RUNTIME_STOP_SECONDS']),
    llm: {
      baseUrl: env['SVC_LLM_BASE_URL'] || env['SVC_ALT_URL'] || `${apiUrl}/llm`,
      apiKey: env['SVC_LLM_API_KEY'] || env['SVC_ALT_API_KEY'] || '',
      shape: shapeOf(env['SVC_LLM_SHAPE']),
    },
    /** The configured models, which agents and subagents may name; empty when there is only one. */
    models: readModels(env['SVC_LLM_MODELS'], problems),
    /** All platform variables and the project's secrets, as the agent gets them. */
    platform: Object.fromEntries(given.filter(([name]) => name.startsWith('SVC_'))),
    secrets: Object.fromEntries(given.filter(([name]) => refuseSecretName(name) === null)),
  }
  return problems.length > 0 ? { problems } : config
}

const shapeOf = (name: unknown): ModelShape => (name === 'anthropic' ? 'anthropic' : 'openai')

/** In milliseconds; null for never. */
function readSeconds(text: string | undefined): number | null {
  const seconds = Number(text)
  return seconds > 0 ? seconds * 1000 : null
}

function readCommand(json: string | undefined, problems: string[]): string[] | null {
  if (!json) return null
  const words = parseJson(json)
  if (Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')) return words
  problems.push('SVC_RUNTIME_COMMAND is not a JSON list of strings.')
  return null
}

function readModels(json: string | undefined, problems: string[]): Record<string, ModelShape> {
  if (!json) return {}
  const models = parseJson(json)
  if (isRecord(models)) return Object.fromEntries(Object.entries(models).map(([name, shape]) => [name, shapeOf(shape)]))
  problems.push('SVC_LLM_MODELS is not a JSON object of model names.')
  return {}
}

/** The driver decides whether the sandbox has one uid or two; the kernel's uid map shows which. */
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

/** The daemon's folders and files. */
export interface DaemonPaths {
  workspace: string
  home: string
  /** Readable by the agent, writable only by the daemon. */
  runtimeDir: string
  /** Later secrets, which every bash of the agent sources. Kept in memory, not in the folder shared with the host. */
  sessionEnv: string
  /** Files that came with prompts. */
  attachments: string
}

export const sandboxPaths: DaemonPaths = {
  workspace: workspaceDir,
  home: runtimeHome,
  runtimeDir: '/opt/svc/runtime',
  sessionEnv: '/opt/svc/session.env',
  attachments: attachmentsDir,
}
