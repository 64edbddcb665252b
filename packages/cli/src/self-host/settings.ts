/** The environment that `svc self-host start` gives the server, in an owner-only file that systemd also reads. */
import { replacePrivateFile } from '../config/private-file.ts'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import type { Context } from '../context.ts'
import { Refusal, UsageError } from '../errors.ts'
import { closest } from '@svc/contract/schemas/closest'
import { selfHostFile } from './self-host-file.ts'

interface Setting {
  summary: string
  /** A value that the server accepts, for a suggested command. A secret is asked for on stdin. */
  example?: string
  secret?: true
  /** Files or folders, several of them separated by colons. A server runs in another folder than the shell. */
  names?: 'path' | 'paths'
}

/** Every variable of the server: docs/operate/server.md. */
export const settings: Readonly<Record<string, Setting>> = {
  SVC_PORT: { summary: 'Port it listens on', example: '8421' },
  SVC_HOST: { summary: 'Address it listens on', example: '0.0.0.0' },
  SVC_PUBLIC_URL: { summary: 'Public URL', example: 'https://svc.example.com' },
  SVC_DATA_DIR: { summary: 'Database, managed repositories, mirrors', example: '/srv/svc', names: 'path' },
  SVC_BACKUP_DIR: {
    summary: 'Folder or s3://bucket/prefix for backups that the server makes by itself',
    example: '/mnt/backups',
    names: 'path',
  },
  SVC_BACKUP_EVERY: { summary: 'How often it makes one, like 24h', example: '24h' },
  SVC_BACKUP_KEEP: { summary: 'How many it keeps, or for how long: 30 or 14d', example: '14d' },
  SVC_BACKUP_KEY_FILE: {
    summary: 'Key file of age that encrypts them',
    example: '/srv/svc-backups.key',
    names: 'path',
  },
  SVC_BACKUP_S3_ENDPOINT: {
    summary: 'URL of the S3-compatible store for backups; unset: Amazon S3',
    example: 'https://store.example.com',
  },
  SVC_BACKUP_S3_REGION: { summary: 'Region of its bucket, like eu-central-1', example: 'eu-central-1' },
  SVC_BACKUP_S3_ADDRESSING: { summary: 'Where its URLs have the bucket: path or host', example: 'path' },
  SVC_BACKUP_S3_CREDENTIALS_FILE: {
    summary: 'File with its credentials, like ~/.aws/credentials',
    example: '/srv/svc-backups.credentials',
    names: 'path',
  },
  AWS_ACCESS_KEY_ID: { summary: 'Access key of that bucket', secret: true },
  AWS_SECRET_ACCESS_KEY: { summary: 'Secret key of that bucket', secret: true },
  AWS_SESSION_TOKEN: { summary: 'Session token, for credentials that expire', secret: true },
  SVC_KEEP_EVENTS: { summary: 'How long the server keeps the feed of events: 90d, or forever', example: '90d' },
  SVC_KEEP_DELIVERIES: { summary: 'How long the server keeps deliveries of webhooks: 90d, or forever', example: '90d' },
  SVC_KEEP_CHECKS: {
    summary: 'How long the server keeps finished checks and their logs: 90d, or forever',
    example: '90d',
  },
  SVC_KEEP_DEPLOYS: {
    summary: 'How long the server keeps ended deploys and their logs: 90d, or forever',
    example: '90d',
  },
  SVC_KEEP_FIRINGS: { summary: 'How long the server keeps firings of triggers: 90d, or forever', example: '90d' },
  SVC_KEEP_TRANSCRIPTS: {
    summary: 'How long the server keeps conversations of sessions that rest: 90d, or forever',
    example: 'forever',
  },
  SVC_KEEP_BRANCHES: {
    summary: 'How long the server keeps branches of sessions after their merge: 90d, or forever',
    example: 'forever',
  },
  SVC_KEEP_AUDIT: { summary: 'How long the server keeps the audit log: 90d, or forever', example: 'forever' },
  SVC_MASTER_KEY_FILE: {
    summary: 'File of the master key, which encrypts secrets',
    example: '/srv/master.key',
    names: 'path',
  },
  DATABASE_URL: {
    summary: 'Connection URL of your own PostgreSQL',
    secret: true,
  },
  SVC_BOOTSTRAP_TOKEN: {
    summary: "The owner's token, set at the first start",
    secret: true,
  },
  SVC_LLM_UPSTREAM_URL: {
    summary: 'URL of an OpenAI-compatible model server',
    example: 'https://models.example.com/v1',
  },
  SVC_LLM_UPSTREAM_KEY: { summary: 'API key of the model server', secret: true },
  SVC_LLM_MODEL: { summary: 'Default model', example: 'large' },
  SVC_LLM_MODELS: { summary: 'More models that sessions may choose, separated by commas', example: 'large,small' },
  SVC_LLM_UPSTREAMS_FILE: {
    summary: 'JSON file with several model servers',
    example: '/srv/upstreams.json',
    names: 'path',
  },
  SVC_LLM_CALLS_PER_MINUTE: { summary: 'Rate limit of model requests per session', example: '120' },
  SVC_APP_PROVIDER: { summary: 'Provider of app deploys: local or none', example: 'local' },
  SVC_CHECKS_AT_ONCE: { summary: 'Concurrent checks of change requests on this server; 0: none', example: '2' },
  SVC_CHECKS_PER_ACCOUNT: { summary: 'Concurrent checks per account, on all servers', example: '10' },
  SVC_CHECK_MINUTES: { summary: 'Time limit of a check', example: '15' },
  SVC_CONNECTOR_PROVIDER: { summary: 'Provider of connectors: mcp or none', example: 'mcp' },
  SVC_SLACK_API_URL: { summary: "URL of Slack's API", example: 'https://slack.com/api' },
  SVC_GIT_HOST: { summary: 'Git host of SVC_GIT_HOST_TOKEN', example: 'github.com' },
  SVC_GIT_HOST_USERNAME: { summary: 'User name of SVC_GIT_HOST_TOKEN', example: 'svc' },
  SVC_GIT_HOST_TOKEN: {
    summary: 'Git access token for projects without their own',
    secret: true,
  },
  SVC_GITHUB_HOSTS: { summary: 'More GitHub-style hosts', example: 'github.example.com' },
  SVC_GITHUB_APP_ID: { summary: 'Id of a GitHub App', example: '12345' },
  SVC_GITHUB_APP_PRIVATE_KEY_FILE: {
    summary: "File of the App's private key",
    example: '/srv/github-app.pem',
    names: 'path',
  },
  SVC_GITHUB_API_URL: { summary: "URL of the App's API", example: 'https://api.github.com' },
  SVC_GITHUB_APP_ACCOUNTS: { summary: 'GitHub accounts the App may act for', example: 'my-team' },
  SVC_OIDC_ISSUER: { summary: 'Issuer of the OpenID Connect sign-in', example: 'https://login.example.com' },
  SVC_OIDC_CLIENT_ID: { summary: 'OpenID Connect client id', example: 'svc' },
  SVC_OIDC_CLIENT_SECRET: { summary: 'OpenID Connect client secret', secret: true },
  SVC_OIDC_NAME: { summary: 'Display name of the provider', example: 'Example' },
  SVC_SANDBOX_DRIVER: { summary: 'Sandbox driver', example: 'auto' },
  SVC_PEER_LISTEN: {
    summary: 'Where this server listens for other servers alone, like 0.0.0.0:8421',
    example: '0.0.0.0:8421',
  },
  SVC_SERVER_NAME: { summary: 'Name of this server among several on one database', example: 'server-1' },
  SVC_PEER_URL: {
    summary: 'URL at which the other servers of the database reach this one',
    example: 'https://10.0.0.7:8421',
  },
  SVC_REPLICA: { summary: 'Copy of each repository on another server: sync, async or none', example: 'sync' },
  SVC_BALANCE_HOMES: { summary: 'Whether idle projects move to emptier servers: on or off', example: 'on' },
  SVC_KUBERNETES_NAMESPACE: { summary: 'Namespace of the sandboxes in a cluster', example: 'svc' },
  SVC_KUBERNETES_IMAGE: { summary: 'Image of the sandboxes in a cluster', example: 'registry.example/svc/sandbox:1' },
  SVC_KUBERNETES_PROJECT_IMAGES: {
    summary: 'Images that projects may name, like registry.example/team/*',
    example: 'registry.example/team/*',
  },
  SVC_KUBERNETES_PULL_SECRETS: {
    summary: 'Secrets with which nodes fetch the images of sandboxes, separated by commas',
    example: 'registry',
  },
  SVC_KUBERNETES_RUNTIME_CLASS: { summary: 'Runtime class of the sandboxes, such as gvisor', example: 'gvisor' },
  SVC_KUBERNETES_NODE_SELECTOR: {
    summary: 'Labels of the nodes that run sandboxes, like pool=agents',
    example: 'pool=agents',
  },
  SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS: {
    summary: 'Storage class of work trees that are larger than memory',
    example: 'standard',
  },
  SVC_SANDBOX_CPU_MAX: { summary: 'Maximum cores of a sandbox', example: '4' },
  SVC_SANDBOX_MEMORY_MAX: { summary: 'Maximum memory of a sandbox, like 8GiB', example: '8GiB' },
  SVC_SANDBOX_DISK_MAX: { summary: 'Maximum disk of a sandbox, like 16GiB', example: '16GiB' },
  SVC_EGRESS: { summary: 'Hosts that sandboxes may connect to', example: 'github.com,registry.npmjs.org' },
  SVC_BUILD_NETWORK: { summary: "Network of a project's Dockerfile: none or default", example: 'none' },
  SVC_SANDBOX_HIDDEN_PATHS: {
    summary: 'Local files that no sandbox may read, separated by colons',
    example: '/srv/private',
    names: 'paths',
  },
  SVC_SANDBOX_LEASE_SECONDS: {
    summary: 'Time a session goes on without a server, such as during an upgrade',
    example: '3600',
  },
  SVC_RUNTIME_FREEZE_SECONDS: { summary: 'Time after which an idle agent runtime freezes; 0 for never', example: '60' },
  SVC_RUNTIME_STOP_SECONDS: { summary: 'Time after which a frozen agent runtime stops; 0 for never', example: '600' },
  SVC_SESSION_LIMIT: { summary: 'Limit of live sessions per account', example: '20' },
  SVC_WAITING_MINUTES: { summary: 'Time an agent waits for an answer before its session stops', example: '1440' },
  SVC_FILE_REPOSITORY_ROOTS: {
    summary: 'Folders with repositories that projects may use by path, separated by colons',
    example: '/srv/repositories',
    names: 'paths',
  },
  SVC_ALLOW_PRIVATE_GIT_HOSTS: { summary: 'Allow repositories at private addresses: 1 or 0', example: '1' },
  SVC_PREVIEW_DOMAIN: { summary: 'Domain of preview URLs', example: 'preview.example.com' },
  SVC_TRUSTED_PROXIES: { summary: 'Trusted reverse proxies: addresses, ranges, or loopback', example: 'loopback' },
  SVC_PROXY_PROTOCOL: { summary: 'Whether those proxies speak the PROXY protocol: 1 or 0', example: '1' },
  SVC_FORWARDED_HEADER: { summary: 'Header with the client address behind the proxies', example: 'x-forwarded-for' },
  SVC_QUOTA_REPOSITORY: { summary: 'Quota of one repository, like 5GiB', example: '5GiB' },
  SVC_QUOTA_PUSH: { summary: 'Quota of one push', example: '1GiB' },
  SVC_QUOTA_UNFINISHED_WORK: { summary: 'Quota of the unfinished work of one session', example: '1GiB' },
  SVC_QUOTA_TRANSCRIPT: { summary: 'Quota of the transcript of one session', example: '256MiB' },
  SVC_QUOTA_CHECK_LOG: { summary: 'Quota of the log of one check', example: '32MiB' },
  SVC_QUOTA_APP_ARCHIVE: { summary: 'Quota of the files of one app or check', example: '512MiB' },
  SVC_QUOTA_SESSIONS: { summary: 'Quota of all sessions of a project, like 20GiB', example: '20GiB' },
  SVC_DISK_FREE_MIN: { summary: 'Minimum free disk space for accepting work', example: '1GiB' },
  SVC_MIRRORS_MAX_MB: { summary: 'Quota of all mirrors of external repositories', example: '20480' },
  SVC_WARM_SANDBOXES: { summary: 'Warm sandboxes per active project', example: '1' },
  SVC_HEADERS_SECONDS: { summary: 'Time limit of request headers', example: '10' },
  SVC_BODY_IDLE_SECONDS: { summary: 'Time a request body may stall', example: '30' },
  SVC_BODY_BYTES_PER_SECOND: { summary: 'Minimum rate of a request body; 0: any', example: '500' },
  SVC_JSON_BODY_SECONDS: { summary: 'Time limit of a JSON body', example: '60' },
  SVC_CONNECTIONS_MAX: { summary: 'Open connections in total', example: '4000' },
  SVC_CONNECTIONS_PER_ADDRESS: { summary: 'Open connections per address', example: '500' },
  SVC_STREAMS_MAX: { summary: 'Event streams and WebSockets in total', example: '4000' },
  SVC_STREAMS_PER_ADDRESS: { summary: 'Event streams and WebSockets per client', example: '500' },
  SVC_METRICS_TOKEN: {
    summary: 'Token that allows /metrics from other machines',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    summary: 'URL of an OpenTelemetry collector; turns traces on',
    example: 'http://127.0.0.1:4318',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    summary: 'The same for traces alone, as the whole URL',
    example: 'https://collector.example.com/v1/traces',
  },
  OTEL_EXPORTER_OTLP_HEADERS: { summary: 'Headers for the collector, like name=value', secret: true },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: { summary: 'The same for traces alone', secret: true },
  OTEL_SERVICE_NAME: { summary: 'Name of the service in traces', example: 'svc' },
  OTEL_RESOURCE_ATTRIBUTES: {
    summary: 'More attributes of every trace, like name=value',
    example: 'deployment.environment.name=production',
  },
  OTEL_TRACES_SAMPLER: { summary: 'Which requests and jobs have a trace', example: 'parentbased_traceidratio' },
  OTEL_TRACES_SAMPLER_ARG: { summary: 'Share of the traces, for the samplers with traceidratio', example: '0.1' },
  SVC_ROLES: { summary: 'Role of this process', example: 'api,worker' },
  SVC_LOG: { summary: 'Format of the log: json or pretty', example: 'json' },
  SVC_LOG_FILE_MAX_MB: { summary: 'Size above which the log file is rotated; 0 for never', example: '32' },
  SVC_LOG_LEVEL: { summary: 'Least level of its lines: info, or debug for a line per request', example: 'debug' },
}

const fileBytesMax = 256 * 1024
const line = /^([A-Z][A-Z0-9_]*)="((?:[^"\\]|\\.)*)"$/

type SettingsPlace = Pick<Context, 'configPath' | 'skipsBrokenLines'>

export async function readSettings(ctx: SettingsPlace): Promise<Record<string, string> | null> {
  const path = selfHostFile(ctx, 'env')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw broken(path, error.message)
  })
  if (text === null) return null
  if (text.length > fileBytesMax) throw broken(path, 'it is larger than 256 KiB')
  const found: Record<string, string> = {}
  for (const [i, raw] of text.split('\n').entries()) {
    if (raw.trim() === '' || raw.startsWith('#')) continue
    const match = line.exec(raw.trim()) ?? /^([A-Z][A-Z0-9_]*)=([^"'\\\s]*)$/.exec(raw.trim())
    if (match !== null) found[match[1]!] = match[2]!.replace(/\\(.)/g, '$1')
    else if (ctx.skipsBrokenLines !== true) throw broken(path, `line ${i + 1} is not NAME="value"`, i + 1)
  }
  return found
}

export async function writeSettings(
  ctx: Pick<Context, 'configPath'>,
  changes: Readonly<Record<string, string | null>>,
): Promise<string> {
  const path = selfHostFile(ctx, 'env')
  const merged = { ...(await readSettings(ctx)), ...changes }
  const lines = Object.entries(merged)
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .map(([name, value]) => `${name}="${value.replace(/["\\$`]/g, '\\$&')}"\n`)
  await replacePrivateFile(path, `# Settings of svc self-host; they apply at the next start.\n${lines.join('')}`)
  return path
}

/** Parses `KEY=VALUE` arguments. An empty value removes the setting. */
export function parseAssignments(words: readonly string[]): Record<string, string | null> {
  const changes: Record<string, string | null> = {}
  for (const word of words) {
    const at = word.indexOf('=')
    if (at <= 0) throw new UsageError(`Not KEY=VALUE: ${word}`, { next: ['svc self-host env set SVC_PORT=8421'] })
    const [name, value] = [word.slice(0, at), word.slice(at + 1)]
    if (!Object.hasOwn(settings, name)) throw unknownSetting(name)
    // Neither a line of the file nor an environment variable can hold these.
    if (/[\n\r\0]/.test(value)) throw new UsageError(`The value of ${name} must be one line`)
    changes[name] = value === '' ? null : value
  }
  return changes
}

/** Relative paths begin in this folder. */
export function withAbsolutePaths<V extends string | null | undefined>(
  values: Readonly<Record<string, V>>,
  cwd: string,
): Record<string, V | string> {
  const absolute = (path: string) => (path === '' ? path : resolve(cwd, path.replace(/^~(?=\/|$)/, homedir())))
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const kind = settings[name]?.names
      if (kind === undefined || !value || isS3Address(value)) return [name, value]
      return [name, kind === 'path' ? absolute(value) : value.split(':').map(absolute).join(':')]
    }),
  )
}

export function unknownSetting(name: string): UsageError {
  // Its runtime reads it once, before the program runs.
  if (name === 'NODE_EXTRA_CA_CERTS')
    return new UsageError('NODE_EXTRA_CA_CERTS is not saved with the settings', {
      hint: 'Set it where the server is started: in the shell of svc self-host start, or in the environment of its service or container.',
      next: ['NODE_EXTRA_CA_CERTS=/etc/ssl/company-ca.pem svc self-host start'],
    })
  const meant = closest(name, Object.keys(settings))
  return new UsageError(`The server has no setting ${JSON.stringify(name)}`, {
    hint: meant === null ? null : `Did you mean ${meant}?`,
    next: ['svc self-host env ls'],
  })
}

/** Hashes by setting: comparing two starts needs no second copy of the values. */
export function fingerprints(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.keys(settings)
      .filter((name) => (env[name] ?? '') !== '')
      .map((name) => [name, createHash('sha256').update(env[name]!).digest('hex').slice(0, 16)]),
  )
}

/** KEY=VALUE as a word for a shell. A secret is asked for on stdin. */
export function assignment(name: string, value: string): string {
  if (isSecret(name)) return `${name}=-`
  return /^[\w@%+=:,./-]*$/.test(value) ? `${name}=${value}` : `${name}='${value.replaceAll("'", `'\\''`)}'`
}

function isSecret(name: string): boolean {
  return settings[name]?.secret === true || /(KEY|TOKEN|SECRET|PASSWORD)$/.test(name)
}

/** Enough to tell values apart, too little to use. */
export function masked(name: string, value: string): string {
  if (!isSecret(name)) return value
  return value.length < 12 ? '••••' : `••••${value.slice(-4)}`
}

function broken(path: string, why: string, lineNumber?: number): Refusal {
  return new Refusal('config_broken', `The settings of the server are unusable: ${why}`, {
    hint: `Fix or move ${path}.`,
    detail: lineNumber === undefined ? { path } : { path, line: lineNumber },
  })
}
