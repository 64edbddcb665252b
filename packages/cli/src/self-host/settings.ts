/** The environment that `svc self-host start` gives the server, in an owner-only file that systemd also reads. */
import { replacePrivateFile } from '../config/private-file.ts'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Context } from '../context.ts'
import { Refusal, UsageError } from '../errors.ts'
import { closest } from '@svc/contract/schemas/closest'
import { selfHostFile } from './state.ts'

interface Setting {
  summary: string
  secret?: true
}

/** Every variable of the server: docs/operate/server.md. */
export const settings: Readonly<Record<string, Setting>> = {
  SVC_PORT: { summary: 'Port it listens on' },
  SVC_HOST: { summary: 'Address it listens on' },
  SVC_PUBLIC_URL: { summary: 'Public URL' },
  SVC_DATA_DIR: { summary: 'Database, managed repositories, mirrors' },
  SVC_BACKUP_DIR: { summary: 'Folder for backups that the server makes by itself' },
  SVC_BACKUP_EVERY: { summary: 'How often it makes one, like 24h' },
  SVC_BACKUP_KEEP: { summary: 'How many it keeps, or for how long: 30 or 14d' },
  SVC_BACKUP_KEY_FILE: { summary: 'Key file of age that encrypts them' },
  SVC_KEEP_EVENTS: { summary: 'How long the server keeps the feed of events: 90d, or forever' },
  SVC_KEEP_DELIVERIES: { summary: 'How long the server keeps deliveries of webhooks: 90d, or forever' },
  SVC_KEEP_CHECKS: { summary: 'How long the server keeps finished checks and their logs: 90d, or forever' },
  SVC_KEEP_DEPLOYS: { summary: 'How long the server keeps ended deploys and their logs: 90d, or forever' },
  SVC_KEEP_FIRINGS: { summary: 'How long the server keeps firings of triggers: 90d, or forever' },
  SVC_KEEP_TRANSCRIPTS: { summary: 'How long the server keeps conversations of sessions that rest: 90d, or forever' },
  SVC_KEEP_AUDIT: { summary: 'How long the server keeps the audit log: 90d, or forever' },
  SVC_MASTER_KEY_FILE: { summary: 'File of the master key, which encrypts secrets' },
  DATABASE_URL: { summary: 'Connection URL of your own PostgreSQL', secret: true },
  SVC_BOOTSTRAP_TOKEN: { summary: "The owner's token, set at the first start", secret: true },
  SVC_LLM_UPSTREAM_URL: { summary: 'URL of an OpenAI-compatible model server' },
  SVC_LLM_UPSTREAM_KEY: { summary: 'API key of the model server', secret: true },
  SVC_LLM_MODEL: { summary: 'Default model' },
  SVC_LLM_MODELS: { summary: 'More models that sessions may choose, separated by commas' },
  SVC_LLM_UPSTREAMS_FILE: { summary: 'JSON file with several model servers' },
  SVC_LLM_CALLS_PER_MINUTE: { summary: 'Rate limit of model requests per session' },
  SVC_APP_PROVIDER: { summary: 'Provider of app deploys: local or none' },
  SVC_CHECKS_AT_ONCE: { summary: 'Concurrent checks of change requests on this server; 0: none' },
  SVC_CHECKS_PER_ACCOUNT: { summary: 'Concurrent checks per account, on all servers' },
  SVC_CHECK_MINUTES: { summary: 'Time limit of a check' },
  SVC_CONNECTOR_PROVIDER: { summary: 'Provider of connectors: mcp or none' },
  SVC_SLACK_API_URL: { summary: "URL of Slack's API" },
  SVC_GIT_HOST: { summary: 'Git host of SVC_GIT_HOST_TOKEN' },
  SVC_GIT_HOST_USERNAME: { summary: 'User name of SVC_GIT_HOST_TOKEN' },
  SVC_GIT_HOST_TOKEN: { summary: 'Git access token for projects without their own', secret: true },
  SVC_GITHUB_HOSTS: { summary: 'More GitHub-style hosts' },
  SVC_GITHUB_APP_ID: { summary: 'Id of a GitHub App' },
  SVC_GITHUB_APP_PRIVATE_KEY_FILE: { summary: "File of the App's private key" },
  SVC_GITHUB_API_URL: { summary: "URL of the App's API" },
  SVC_GITHUB_APP_ACCOUNTS: { summary: 'GitHub accounts the App may act for' },
  SVC_OIDC_ISSUER: { summary: 'Issuer of the OpenID Connect sign-in' },
  SVC_OIDC_CLIENT_ID: { summary: 'OpenID Connect client id' },
  SVC_OIDC_CLIENT_SECRET: { summary: 'OpenID Connect client secret', secret: true },
  SVC_OIDC_NAME: { summary: 'Display name of the provider' },
  SVC_SANDBOX_DRIVER: { summary: 'Sandbox driver' },
  SVC_PEER_LISTEN: { summary: 'Where this server listens for other servers alone, like 0.0.0.0:8421' },
  SVC_SERVER_NAME: { summary: 'Name of this server among several on one database' },
  SVC_PEER_URL: { summary: 'URL at which the other servers of the database reach this one' },
  SVC_REPLICA: { summary: 'Copy of each repository on another server: sync, async or none' },
  SVC_BALANCE_HOMES: { summary: 'Whether idle projects move to emptier servers: on or off' },
  SVC_KUBERNETES_NAMESPACE: { summary: 'Namespace of the sandboxes in a cluster' },
  SVC_KUBERNETES_IMAGE: { summary: 'Image of the sandboxes in a cluster' },
  SVC_KUBERNETES_PROJECT_IMAGES: { summary: 'Images that projects may name, like registry.example/team/*' },
  SVC_KUBERNETES_RUNTIME_CLASS: { summary: 'Runtime class of the sandboxes, such as gvisor' },
  SVC_KUBERNETES_NODE_SELECTOR: { summary: 'Labels of the nodes that run sandboxes, like pool=agents' },
  SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS: { summary: 'Storage class of work trees that are larger than memory' },
  SVC_SANDBOX_CPU_MAX: { summary: 'Maximum cores of a sandbox' },
  SVC_SANDBOX_MEMORY_MAX: { summary: 'Maximum memory of a sandbox, like 8GiB' },
  SVC_SANDBOX_DISK_MAX: { summary: 'Maximum disk of a sandbox, like 16GiB' },
  SVC_EGRESS: { summary: 'Hosts that sandboxes may connect to' },
  SVC_BUILD_NETWORK: { summary: "Network of a project's Dockerfile: none or default" },
  SVC_SANDBOX_HIDDEN_PATHS: { summary: 'Local files that no sandbox may read, separated by colons' },
  SVC_SANDBOX_LEASE_SECONDS: { summary: 'Time a session goes on without a server, such as during an upgrade' },
  SVC_RUNTIME_FREEZE_SECONDS: { summary: 'Time after which an idle agent runtime freezes; 0 for never' },
  SVC_RUNTIME_STOP_SECONDS: { summary: 'Time after which a frozen agent runtime stops; 0 for never' },
  SVC_SESSION_LIMIT: { summary: 'Limit of live sessions per account' },
  SVC_WAITING_MINUTES: { summary: 'Time an agent waits for an answer before its session stops' },
  SVC_FILE_REPOSITORY_ROOTS: {
    summary: 'Folders with repositories that projects may use by path, separated by colons',
  },
  SVC_ALLOW_PRIVATE_GIT_HOSTS: { summary: 'Allow repositories at private addresses: 1 or 0' },
  SVC_PREVIEW_DOMAIN: { summary: 'Domain of preview URLs' },
  SVC_TRUSTED_PROXIES: { summary: 'Trusted reverse proxies: addresses, ranges, or loopback' },
  SVC_PROXY_PROTOCOL: { summary: 'Whether those proxies speak the PROXY protocol: 1 or 0' },
  SVC_FORWARDED_HEADER: { summary: 'Header with the client address behind the proxies' },
  SVC_QUOTA_REPOSITORY: { summary: 'Quota of one repository, like 5GiB' },
  SVC_QUOTA_PUSH: { summary: 'Quota of one push' },
  SVC_QUOTA_UNFINISHED_WORK: { summary: 'Quota of the unfinished work of one session' },
  SVC_QUOTA_TRANSCRIPT: { summary: 'Quota of the transcript of one session' },
  SVC_QUOTA_CHECK_LOG: { summary: 'Quota of the log of one check' },
  SVC_QUOTA_APP_ARCHIVE: { summary: 'Quota of the files of one app or check' },
  SVC_QUOTA_SESSIONS: { summary: 'Quota of all sessions of a project, like 20GiB' },
  SVC_DISK_FREE_MIN: { summary: 'Minimum free disk space for accepting work' },
  SVC_MIRRORS_MAX_MB: { summary: 'Quota of all mirrors of external repositories' },
  SVC_WARM_SANDBOXES: { summary: 'Warm sandboxes per active project' },
  SVC_HEADERS_SECONDS: { summary: 'Time limit of request headers' },
  SVC_BODY_IDLE_SECONDS: { summary: 'Time a request body may stall' },
  SVC_BODY_BYTES_PER_SECOND: { summary: 'Minimum rate of a request body; 0: any' },
  SVC_JSON_BODY_SECONDS: { summary: 'Time limit of a JSON body' },
  SVC_CONNECTIONS_MAX: { summary: 'Open connections in total' },
  SVC_CONNECTIONS_PER_ADDRESS: { summary: 'Open connections per address' },
  SVC_STREAMS_MAX: { summary: 'Event streams and WebSockets in total' },
  SVC_STREAMS_PER_ADDRESS: { summary: 'Event streams and WebSockets per client' },
  SVC_METRICS_TOKEN: { summary: 'Token that allows /metrics from other machines', secret: true },
  SVC_ROLES: { summary: 'Role of this process' },
  SVC_LOG: { summary: 'Format of the log: json or pretty' },
}

const fileBytesMax = 256 * 1024
const line = /^([A-Z][A-Z0-9_]*)="((?:[^"\\]|\\.)*)"$/

export async function readSettings(ctx: Pick<Context, 'configPath'>): Promise<Record<string, string> | null> {
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
    if (match === null) throw broken(path, `line ${i + 1} is not NAME="value"`)
    found[match[1]!] = match[2]!.replace(/\\(.)/g, '$1')
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
    if (!Object.hasOwn(settings, name)) {
      const meant = closest(name, Object.keys(settings))
      throw new UsageError(`The server has no setting ${JSON.stringify(name)}`, {
        hint: meant === null ? null : `Did you mean ${meant}?`,
        next: ['svc self-host env ls'],
      })
    }
    // Neither a line of the file nor an environment variable can hold these.
    if (/[\n\r\0]/.test(value)) throw new UsageError(`The value of ${name} must be one line`)
    changes[name] = value === '' ? null : value
  }
  return changes
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

function broken(path: string, why: string): Refusal {
  return new Refusal('config_broken', `The settings of the server are unusable: ${why}`, {
    hint: `Fix or move ${path}.`,
    detail: { path },
  })
}
