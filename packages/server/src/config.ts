/** The only file of the server that reads the environment. Throws once, listing every bad variable. */
import { homedir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import type { SettingsProblem } from '@svc/contract/daemon/owner-socket'
import { isWellFormedToken } from '@svc/contract/schemas/token-format'
import pg from 'pg'
import { readBackups } from './config/backups.ts'
import { readChecks } from './config/checks.ts'
import { readFileRepositories, readGitHost } from './config/git-host.ts'
import { readFleet } from './config/fleet.ts'
import { readGitHub } from './config/github.ts'
import { readQuotas } from './config/quotas.ts'
import { readOidc } from './config/oidc.ts'
import { readKubernetes } from './config/kubernetes.ts'
import { readModels } from './config/models.ts'
import { readNetwork } from './config/network.ts'
import { readSandboxes } from './config/sandboxes.ts'
import { readRetention } from './config/retention.ts'
import { Settings } from './config/settings.ts'
import { readTracing } from './config/tracing.ts'
import { type Failpoint, parseFailpoints } from './failpoint.ts'

export type Config = ReturnType<typeof parseConfig>

export class ConfigError extends Error {
  readonly problems: readonly SettingsProblem[]
  constructor(problems: readonly SettingsProblem[]) {
    super(problems.map(({ says }) => says).join('\n'))
    this.problems = problems
    this.name = 'ConfigError'
  }
}

/** Secrets the operator configured, which no log, error or transcript may show. */
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
    ...Object.fromEntries(
      (config.tracing?.secrets ?? []).map((value, index) => [`header ${index + 1} of the collector`, value] as const),
    ),
    SVC_GIT_HOST_TOKEN: config.gitHost?.token ?? null,
    SVC_OIDC_CLIENT_SECRET: config.oidc?.clientSecret ?? null,
    AWS_SECRET_ACCESS_KEY: config.objectStore.credentials?.secretAccessKey ?? null,
    AWS_SESSION_TOKEN: config.objectStore.credentials?.sessionToken ?? null,
    DATABASE_URL: database === null ? null : decodeURIComponent(database.password),
  }
}

export const defaultDataDir = () => join(homedir(), '.local/share/svc')
export const defaultMasterKeyFile = () => join(homedir(), '.config/svc/master.key')

export function readConfig(): Config {
  return parseConfig(process.env)
}

export function settingNames(): string[] {
  return Object.keys(process.env).toSorted()
}

/** One warm sandbox per project in use if memory allows; all together take at most a fifth of the machine. */
function warmSandboxes(perProject: number | null, memoryBytes: number) {
  const inAll = Math.floor(memoryBytes / 5 / warmSandboxBytes)
  const chosen = perProject ?? (inAll > 0 ? 1 : 0)
  return { perProject: chosen, inAll: Math.max(inAll, chosen) }
}

/** A daemon and an agent runtime after one turn. */
const warmSandboxBytes = 400 * 1024 ** 2

export function parseConfig(env: Record<string, string | undefined>) {
  const settings = new Settings(env)
  const isLoopback = ['127.0.0.1', '::1', 'localhost'].includes(env.SVC_HOST || '127.0.0.1')
  // On a personal machine a repository on the same machine is the normal case; on a shared server it would be a way in.
  const isPersonal = !env.DATABASE_URL && isLoopback
  const allowPrivateGitHosts = settings.flag('SVC_ALLOW_PRIVATE_GIT_HOSTS', isPersonal)
  const dataDir = resolve(env.SVC_DATA_DIR || defaultDataDir())
  const config = {
    ...readAddress(settings, isLoopback),
    ...readSecrets(settings),
    ...readSandboxes(settings),
    ...readQuotas(settings),
    ...readModels(settings),
    ...readFleet(settings),
    ...{ dataDir, ...readBackups(settings, dataDir) },
    ...readRetention(settings),
    /** A private folder for sockets, made by the user's login. */
    runtimeDir: env.XDG_RUNTIME_DIR?.startsWith('/') ? env.XDG_RUNTIME_DIR : null,
    network: readNetwork(settings),
    sandboxDriver: settings.choice('SVC_SANDBOX_DRIVER', ['auto', 'local', 'container', 'kubernetes', 'none']),
    kubernetes: readKubernetes(settings),
    ...readKeyFile(env.SVC_MASTER_KEY_FILE),
    /** The total size of external repositories' mirrors above which the least recently used are emptied. */
    mirrorBytesMax: settings.integer('SVC_MIRRORS_MAX_MB', 20_480, 1, 100_000_000) * 1024 * 1024,
    sessionLimit: settings.integer('SVC_SESSION_LIMIT', null, 0, 100_000),
    /** How long an agent waits for an answer before its session stops. */
    waitingMinutes: settings.integer('SVC_WAITING_MINUTES', 24 * 60, 1, 525_600),
    /** Warm sandboxes: per project in use, and in all. */
    warmSandboxes: warmSandboxes(settings.integer('SVC_WARM_SANDBOXES', null, 0, 100), totalmem()),
    allowPrivateGitHosts,
    fileRepositories: readFileRepositories(settings, isPersonal && allowPrivateGitHosts),
    /** The credential for projects on that host without one of their own, for the first account only. */
    gitHost: readGitHost(settings),
    /** The external sign-in provider; null when there is none. */
    oidc: readOidc(settings),
    /** Base address of Slack's API; ends in a slash. */
    slackApiUrl: `${settings.url('SVC_SLACK_API_URL') ?? 'https://slack.com/api'}/`,
    appProvider: settings.choice('SVC_APP_PROVIDER', ['local', 'none']),
    connectorProvider: settings.choice('SVC_CONNECTOR_PROVIDER', ['mcp', 'none']),
    checks: readChecks(settings),
    /** How long a read waits for a repository before it serves the stored tips. Not configurable: an answer has to leave within two seconds. */
    hostPatience: {
      ms: 1_500,
      /**
       * The minimum wait for a hanging host. A random value between this and `ms` spreads out the answers to hundreds
       * of simultaneous readers, which would otherwise all return at once.
       */
      msMin: 1_000,
      /** The wait for a prefetch from the host. After it the host is asked in the usual order, and stored tips still leave in time. */
      aheadMs: 400,
    },
    /** How often unfinished work is saved beside the saves after turns and tools. */
    saveWorkEveryMs: 60_000,
    /** How long a merge queues behind others on the same base. Below the usual one-minute timeout of a proxy in between. */
    mergeWaitMs: 50_000,
    /** How long a merge retries after outside pushes to its base. */
    mergeTriesMs: 10_000,
    github: readGitHub(settings),
    roles: readRoles(settings),
    ...readObservation(settings),
    /** Where tests end, delay or fail the server; only when run from source. */
    failpoints: readFailpoints(settings),
    /** Where `npm run release` puts programs for other platforms. */
    releaseDirs: [join(process.execPath, '../release'), join(import.meta.dir, '../../../dist/release')],
    /** Folders searched for programs that npm installed (PostgreSQL, the agent runtime). */
    programDirs: [join(process.execPath, '../../node_modules'), join(import.meta.dir, '../../../node_modules')],
  }
  if (settings.problems.length > 0) throw new ConfigError(settings.problems)
  return config
}

const readKeyFile = (named: string | undefined) => ({
  masterKeyFile: resolve(named || defaultMasterKeyFile()),
  /** Whether that is the file of the server, whoever runs this: the setting names it, or this process is the server. */
  isMasterKeyKnown: Boolean(named),
})

function readAddress(settings: Settings, isLoopback: boolean) {
  const aName = /^[A-Za-z0-9.:_-]{1,253}$/
  const aDomain = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/
  const host = settings.matching('SVC_HOST', '127.0.0.1', aName, 'must be an address or a name of this machine')
  const port = settings.integer('SVC_PORT', 8420, 0, 65535)
  const name = isLoopback ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return {
    host,
    port,
    /** Without a trailing slash and without /v1. */
    publicUrl: settings.url('SVC_PUBLIC_URL') ?? `http://${name}:${port}`,
    previewDomain: settings.matching('SVC_PREVIEW_DOMAIN', 'localhost', aDomain, 'must be a domain name'),
  }
}

/** As `pg` reads it. A file of certificates that it names may be missing at this moment. */
function isPostgresUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text)) return false
  try {
    return new pg.Client({ connectionString: text }).host !== ''
  } catch (error) {
    return (error as NodeJS.ErrnoException).syscall !== undefined
  }
}

function readSecrets(settings: Settings) {
  const isMetricsToken = (text: string) => /^[\x21-\x7e]{16,512}$/.test(text)
  return {
    databaseUrl: settings.secret(
      'DATABASE_URL',
      isPostgresUrl,
      'is no URL of a PostgreSQL, which is like postgresql://user:password@host:5432/name. In a password, write %23 for #, %2F for /, %3F for ? and %40 for @.',
    ),
    bootstrapToken: settings.secret(
      'SVC_BOOTSTRAP_TOKEN',
      isWellFormedToken,
      'is not a well-formed svc_pat_ token (its checksum does not fit).',
    ),
    /** Allows GET /metrics from other machines. */
    metricsToken: settings.secret(
      'SVC_METRICS_TOKEN',
      isMetricsToken,
      'must be 16 to 512 letters, digits and signs without spaces.',
    ),
  }
}

function readObservation(settings: Settings) {
  return {
    log: settings.choice('SVC_LOG', ['json', 'pretty'], process.stdout.isTTY ? 'pretty' : 'json'),
    /** The least level of its lines. */
    logLevel: settings.choice('SVC_LOG_LEVEL', ['info', 'debug', 'warn', 'error']),
    /** The log file of `svc self-host start`. */
    logBytesMax: settings.integer('SVC_LOG_FILE_MAX_MB', 32, 0, 1_000_000) * 1024 * 1024 || Infinity,
    /** The collector of traces; null when there is none. */
    tracing: readTracing(settings),
    /** They name settings without effect. The start adds them, since it knows every setting. */
    warnings: [] as string[],
  }
}

function readRoles(settings: Settings) {
  const roles = settings.list('SVC_ROLES')
  for (const role of roles)
    if (role !== 'api' && role !== 'worker')
      settings.problem(['SVC_ROLES'], `SVC_ROLES must be api, worker or both, but has ${JSON.stringify(role)}.`)
  return { api: roles.length === 0 || roles.includes('api'), worker: roles.length === 0 || roles.includes('worker') }
}

function readFailpoints(settings: Settings): Failpoint[] {
  const text = settings.text('SVC_FAILPOINTS')
  const failpoints = text === null ? [] : parseFailpoints(text)
  if (typeof failpoints !== 'string') return failpoints
  settings.refuse('SVC_FAILPOINTS', failpoints)
  return []
}
