/** The only file of the server that reads the environment. Throws once, listing every bad variable. */
import { homedir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { isWellFormedToken } from '@svc/contract/token-format'
import { type CheckConfig, readChecks } from './config-checks.ts'
import { type FileRepositories, type GitHostConfig, readFileRepositories, readGitHost } from './config-git-host.ts'
import { type GitHubConfig, readGitHub } from './config-github.ts'
import { readQuotas, type StorageConfig } from './config-quotas.ts'
import { type OidcConfig, readOidc } from './config-oidc.ts'
import { type ModelConfig, readModels } from './config-models.ts'
import { type NetworkConfig, readNetwork } from './config-network.ts'
import { type OperatorEgress, readSandboxes, type SandboxMax } from './config-sandboxes.ts'
import { type Failpoint, parseFailpoints } from './failpoint.ts'

export interface Config extends ModelConfig, StorageConfig {
  host: string
  port: number
  dataDir: string
  /** A private folder for sockets that the user's login made. */
  runtimeDir: string | null
  /** Without a trailing slash and without /v1. */
  publicUrl: string
  network: NetworkConfig
  databaseUrl: string | null
  bootstrapToken: string | null
  /** Opens GET /metrics from other machines. */
  metricsToken: string | null
  sandboxDriver: 'auto' | 'local' | 'container' | 'none'
  /** The most that one sandbox may ask for. */
  sandboxMax: SandboxMax
  egress: OperatorEgress
  /** What no sandbox may read of this machine. */
  hiddenPaths: string[]
  /** Where container engines are looked for, and what network a project's Dockerfile is built with. */
  containers: { sockets: string[]; buildNetwork: 'none' | 'default' }
  masterKeyFile: string
  sessionLimit: number | null
  /** How long an agent waits for an answer before its session is stopped. */
  waitingMinutes: number
  /** How large the mirrors of external repositories may be together before the longest unused are emptied. */
  mirrorBytesMax: number
  /** Sandboxes that wait for a session: of each project in use, and together. */
  warmSandboxes: { perProject: number; inAll: number }
  previewDomain: string
  allowPrivateGitHosts: boolean
  fileRepositories: FileRepositories
  github: GitHubConfig
  hostPatience: HostPatience
  /** How long a merge waits for others into the same base: not until the usual minute of a proxy in between is over. */
  mergeWaitMs: number
  /** How long a merge begins anew after outside pushes to its base. */
  mergeTriesMs: number
  /** The credential of projects on that host that bring none, for the first account alone. */
  gitHost: GitHostConfig | null
  /** Where people sign in besides here; null: nowhere. */
  oidc: OidcConfig | null
  /** Where Slack's API answers; ends in a slash. */
  slackApiUrl: string
  appProvider: 'local' | 'none'
  connectorProvider: 'mcp' | 'none'
  checks: CheckConfig
  roles: { api: boolean; worker: boolean }
  log: 'json' | 'pretty'
  /** Where tests end, delay or fail the server; only from source. */
  failpoints: Failpoint[]
  /** Folder searched for programs npm installed (PostgreSQL, the agent runtime). */
  programDirs: string[]
  /** Where `npm run release` left programs for others. */
  releaseDirs: string[]
}

/** What a read waits for a repository before what is stored is served. No setting: it has to be out within two seconds. */
export interface HostPatience {
  ms: number
  /** At least, of a host that hangs. Between the two by chance: hundreds who came together are not all answered, and back, in one moment. */
  msMin: number
  /** Of a host that is asked ahead of the rows. After that it is asked in the usual order, and what is stored still is out in time. */
  aheadMs: number
}

export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
  }
}

type Env = Record<string, string | undefined>

/** What the operator configured and no log, error or transcript may show. */
export function operatorSecrets(config: Config): Record<string, string | null> {
  const database = config.databaseUrl !== null && URL.canParse(config.databaseUrl) ? new URL(config.databaseUrl) : null
  return {
    SVC_LLM_UPSTREAM_KEY: config.model?.key ?? null,
    ...Object.fromEntries(
      config.modelUpstreams.list.flatMap(({ name, keys }) =>
        keys.map((key, index) => [`model key ${index + 1} of ${name}`, key] as const),
      ),
    ),
    SVC_METRICS_TOKEN: config.metricsToken,
    SVC_GIT_HOST_TOKEN: config.gitHost?.token ?? null,
    SVC_OIDC_CLIENT_SECRET: config.oidc?.clientSecret ?? null,
    DATABASE_URL: database === null ? null : decodeURIComponent(database.password),
  }
}

export function readConfig(): Config {
  return parseConfig(process.env)
}

export function settingNames(): string[] {
  return Object.keys(process.env).toSorted()
}

/** One waits for each project in use where there is memory for it, and all together take at most a fifth of the machine. */
function warmSandboxes(perProject: number | null, memoryBytes: number): Config['warmSandboxes'] {
  const inAll = Math.floor(memoryBytes / 5 / warmSandboxBytes)
  const chosen = perProject ?? (inAll > 0 ? 1 : 0)
  return { perProject: chosen, inAll: Math.max(inAll, chosen) }
}

/** A daemon and an agent runtime that have done one turn. */
const warmSandboxBytes = 400 * 1024 ** 2

export function parseConfig(env: Env): Config {
  const problems: string[] = []
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | string, isText = false): T => {
    const text = env[name]
    if (text === undefined || text === '') return fallback
    const value = parse(text)
    // A parser answers with what is wrong as text, unless text is what it is for.
    if (typeof value === 'string' && !isText) {
      problems.push(`${name} ${value}, but is ${JSON.stringify(text)}.`)
      return fallback
    }
    return value as T
  }
  const url = (name: string): string | null => {
    const text = env[name]
    if (!text) return null
    if (/^https?:\/\/[^/]/.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '')
    problems.push(`${name} has to be an http or https address, but is ${JSON.stringify(text)}.`)
    return null
  }
  const integer = (min: number, max: number) => (text: string) =>
    /^\d{1,9}$/.test(text) && +text >= min && +text <= max ? +text : `has to be a whole number from ${min} to ${max}`
  const flag = (text: string) =>
    text === '1' || text === 'true' ? true : text === '0' || text === 'false' ? false : 'has to be 1 or 0'

  /** The first is what counts when nothing is set. */
  const choice = <const T extends string>(name: string, choices: readonly [T, ...T[]]): T => {
    const found = env[name] ? choices.find((each) => each === env[name]) : choices[0]
    if (found === undefined)
      problems.push(`${name} has to be ${choices.join(' or ')}, but is ${JSON.stringify(env[name])}.`)
    return found ?? choices[0]
  }

  const host = env.SVC_HOST || '127.0.0.1'
  const port = read('SVC_PORT', 8420, integer(0, 65535))
  if (!/^[A-Za-z0-9.:_-]{1,253}$/.test(host))
    problems.push(`SVC_HOST has to be an address or a name of this machine, but is ${JSON.stringify(host)}.`)
  const previewDomain = env.SVC_PREVIEW_DOMAIN || 'localhost'
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(previewDomain))
    problems.push(`SVC_PREVIEW_DOMAIN has to be a domain name, but is ${JSON.stringify(previewDomain)}.`)
  const databaseUrl = env.DATABASE_URL || null
  if (databaseUrl !== null && !/^postgres(ql)?:\/\//.test(databaseUrl))
    problems.push('DATABASE_URL has to start with postgres:// or postgresql://.')
  const bootstrapToken = env.SVC_BOOTSTRAP_TOKEN || null
  if (bootstrapToken !== null && !isWellFormedToken(bootstrapToken))
    problems.push('SVC_BOOTSTRAP_TOKEN is not a well-formed svc_pat_ token (its checksum does not fit).')
  const metricsToken = env.SVC_METRICS_TOKEN || null
  if (metricsToken !== null && !/^[\x21-\x7e]{16,512}$/.test(metricsToken))
    problems.push('SVC_METRICS_TOKEN has to be 16 to 512 letters, digits and signs without spaces.')
  const modelUrl = url('SVC_LLM_UPSTREAM_URL')
  const callsPerMinute = read('SVC_LLM_CALLS_PER_MINUTE', 120, integer(1, 100_000))
  const roles = (env.SVC_ROLES || 'api,worker').split(',').map((role) => role.trim())
  for (const role of roles)
    if (role !== 'api' && role !== 'worker')
      problems.push(`SVC_ROLES knows api and worker, not ${JSON.stringify(role)}.`)
  const isLoopback = host === '127.0.0.1' || host === '::1' || host === 'localhost'

  // On one's own machine a repository on the same machine is the normal case; on a shared server it is a way in.
  const allowPrivateGitHosts = read('SVC_ALLOW_PRIVATE_GIT_HOSTS', databaseUrl === null && isLoopback, flag)

  const config: Config = {
    host,
    port,
    dataDir: resolve(env.SVC_DATA_DIR || join(homedir(), '.local/share/svc')),
    runtimeDir: env.XDG_RUNTIME_DIR?.startsWith('/') ? env.XDG_RUNTIME_DIR : null,
    publicUrl:
      url('SVC_PUBLIC_URL') ?? `http://${isLoopback ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`,
    network: readNetwork(env, problems, (name, fallback, min, max) => read(name, fallback, integer(min, max))),
    databaseUrl,
    bootstrapToken,
    metricsToken,
    sandboxDriver: read<Config['sandboxDriver']>(
      'SVC_SANDBOX_DRIVER',
      'auto',
      (text) =>
        ['auto', 'local', 'container', 'none'].includes(text)
          ? text
          : (problems.push(
              `SVC_SANDBOX_DRIVER has to be auto, local, container or none, but is ${JSON.stringify(text)}.`,
            ),
            'auto'),
      true,
    ),
    ...readSandboxes(env, problems),
    ...readQuotas(env, problems),
    ...readModels(env, modelUrl, callsPerMinute, problems),
    masterKeyFile: resolve(env.SVC_MASTER_KEY_FILE || join(homedir(), '.config/svc/master.key')),
    mirrorBytesMax: read('SVC_MIRRORS_MAX_MB', 20_480, integer(1, 100_000_000)) * 1024 * 1024,
    sessionLimit: read<number | null>('SVC_SESSION_LIMIT', null, integer(0, 100_000)),
    waitingMinutes: read('SVC_WAITING_MINUTES', 24 * 60, integer(1, 525_600)),
    warmSandboxes: warmSandboxes(read<number | null>('SVC_WARM_SANDBOXES', null, integer(0, 100)), totalmem()),
    previewDomain,
    allowPrivateGitHosts,
    fileRepositories: readFileRepositories(
      env.SVC_FILE_REPOSITORY_ROOTS,
      databaseUrl === null && isLoopback && allowPrivateGitHosts,
      problems,
    ),
    gitHost: readGitHost(env, problems),
    oidc: readOidc(env, problems),
    slackApiUrl: `${url('SVC_SLACK_API_URL') ?? 'https://slack.com/api'}/`,
    appProvider: choice('SVC_APP_PROVIDER', ['local', 'none']),
    connectorProvider: choice('SVC_CONNECTOR_PROVIDER', ['mcp', 'none']),
    checks: readChecks((name, fallback, min, max) => read(name, fallback, integer(min, max))),
    hostPatience: { ms: 1_500, msMin: 1_000, aheadMs: 400 },
    mergeWaitMs: 50_000,
    mergeTriesMs: 10_000,
    github: readGitHub(env, url('SVC_GITHUB_API_URL'), problems),
    roles: { api: roles.includes('api'), worker: roles.includes('worker') },
    log: env.SVC_LOG === 'json' || env.SVC_LOG === 'pretty' ? env.SVC_LOG : process.stdout.isTTY ? 'pretty' : 'json',
    failpoints: read<Failpoint[]>('SVC_FAILPOINTS', [], parseFailpoints),
    releaseDirs: [join(process.execPath, '../release'), join(import.meta.dir, '../../../dist/release')],
    programDirs: [join(process.execPath, '../../node_modules'), join(import.meta.dir, '../../../node_modules')],
  }
  if (env.SVC_LOG && env.SVC_LOG !== 'json' && env.SVC_LOG !== 'pretty')
    problems.push(`SVC_LOG has to be json or pretty, but is ${JSON.stringify(env.SVC_LOG)}.`)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}
