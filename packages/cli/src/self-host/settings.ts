/** The environment that `svc self-host start` gives its server, kept in a file for its owner alone. systemd reads the same file. */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal, UsageError } from '../errors.ts'
import { closest } from '@svc/contract/closest'
import { selfHostFile } from './state.ts'

export interface Setting {
  summary: string
  secret?: true
}

/** Every variable the server reads: docs/operate/server.md. */
export const settings: Readonly<Record<string, Setting>> = {
  SVC_PORT: { summary: 'Port it listens on' },
  SVC_HOST: { summary: 'Address it listens on' },
  SVC_PUBLIC_URL: { summary: 'Address users reach it by' },
  SVC_DATA_DIR: { summary: 'Database, managed repositories, mirrors' },
  SVC_MASTER_KEY_FILE: { summary: 'Opens every sealed value' },
  DATABASE_URL: { summary: 'A PostgreSQL of yours', secret: true },
  SVC_BOOTSTRAP_TOKEN: { summary: "Becomes the owner's token at the first start", secret: true },
  SVC_LLM_UPSTREAM_URL: { summary: 'An OpenAI-compatible model server' },
  SVC_LLM_UPSTREAM_KEY: { summary: 'Its key', secret: true },
  SVC_LLM_MODEL: { summary: 'The model to use there' },
  SVC_LLM_MODELS: { summary: 'More models there that sessions may choose, separated by commas' },
  SVC_LLM_UPSTREAMS_FILE: { summary: 'Several model servers, in a file of JSON' },
  SVC_LLM_CALLS_PER_MINUTE: { summary: 'How often one session may ask its model' },
  SVC_APP_PROVIDER: { summary: 'What deploys apps: local or none' },
  SVC_CHECKS_AT_ONCE: { summary: 'Checks of change requests that run at a time on this server; 0: none' },
  SVC_CHECKS_PER_ACCOUNT: { summary: 'The same of one account, on all servers' },
  SVC_CHECK_MINUTES: { summary: 'How long a check may take' },
  SVC_CONNECTOR_PROVIDER: { summary: 'What connects tools of others: mcp or none' },
  SVC_SLACK_API_URL: { summary: "Where Slack's API answers" },
  SVC_GIT_HOST: { summary: 'Git host that SVC_GIT_HOST_TOKEN is for' },
  SVC_GIT_HOST_USERNAME: { summary: 'User name that goes with it' },
  SVC_GIT_HOST_TOKEN: { summary: 'Credential of projects there that bring none', secret: true },
  SVC_GITHUB_HOSTS: { summary: 'More GitHub-style hosts' },
  SVC_GITHUB_APP_ID: { summary: 'A GitHub App' },
  SVC_GITHUB_APP_PRIVATE_KEY_FILE: { summary: 'File of its private key' },
  SVC_GITHUB_API_URL: { summary: 'API of the host the App belongs to' },
  SVC_GITHUB_APP_ACCOUNTS: { summary: 'Accounts the App serves' },
  SVC_OIDC_ISSUER: { summary: 'OpenID Connect provider that people sign in with' },
  SVC_OIDC_CLIENT_ID: { summary: 'Client id of this server there' },
  SVC_OIDC_CLIENT_SECRET: { summary: 'Secret that goes with it', secret: true },
  SVC_OIDC_NAME: { summary: 'What people call that provider' },
  SVC_SANDBOX_DRIVER: { summary: 'What runs sandboxes' },
  SVC_SANDBOX_CPU_MAX: { summary: 'The most cores of one sandbox' },
  SVC_SANDBOX_MEMORY_MAX: { summary: 'The most memory of one sandbox, like 8GiB' },
  SVC_SANDBOX_DISK_MAX: { summary: 'The largest disk of one sandbox, like 16GiB' },
  SVC_EGRESS: { summary: 'Hosts that sandboxes may reach at all' },
  SVC_BUILD_NETWORK: { summary: "Network of a project's Dockerfile: none or default" },
  SVC_SANDBOX_HIDDEN_PATHS: { summary: 'Files of this machine that no sandbox may read, separated by colons' },
  SVC_SESSION_LIMIT: { summary: 'Live sessions at a time per account' },
  SVC_WAITING_MINUTES: { summary: 'How long an agent waits for an answer before its session is stopped' },
  SVC_FILE_REPOSITORY_ROOTS: { summary: 'Folders whose repositories may be used by path, separated by colons' },
  SVC_ALLOW_PRIVATE_GIT_HOSTS: { summary: 'Repositories at private addresses: 1 or 0' },
  SVC_PREVIEW_DOMAIN: { summary: 'Domain of preview addresses' },
  SVC_TRUSTED_PROXIES: { summary: 'Reverse proxies in front: addresses, ranges, or loopback' },
  SVC_PROXY_PROTOCOL: { summary: 'Whether those proxies speak the PROXY protocol: 1 or 0' },
  SVC_FORWARDED_HEADER: { summary: 'Header that names the client behind them' },
  SVC_QUOTA_REPOSITORY: { summary: 'What one repository may take, like 5GiB' },
  SVC_QUOTA_PUSH: { summary: 'What one push may take' },
  SVC_QUOTA_UNFINISHED_WORK: { summary: 'What the unfinished work of one session may take' },
  SVC_QUOTA_TRANSCRIPT: { summary: 'What the transcript of one session may take' },
  SVC_QUOTA_CHECK_LOG: { summary: 'What is kept of the log of one check' },
  SVC_QUOTA_APP_ARCHIVE: { summary: 'What the files of one app or check may take' },
  SVC_QUOTA_SESSIONS: { summary: 'What all sessions of a project may make the server keep, like 20GiB' },
  SVC_DISK_FREE_MIN: { summary: 'Free disk space below which no new work is taken' },
  SVC_MIRRORS_MAX_MB: { summary: 'What mirrors of external repositories may take together' },
  SVC_WARM_SANDBOXES: { summary: 'Sandboxes kept ready for each project in use' },
  SVC_HEADERS_SECONDS: { summary: 'How long the headers of a request may take' },
  SVC_BODY_IDLE_SECONDS: { summary: 'How long the body of a request may stall' },
  SVC_BODY_BYTES_PER_SECOND: { summary: 'The slowest body that is taken; 0: any' },
  SVC_JSON_BODY_SECONDS: { summary: 'How long a JSON body may take in total' },
  SVC_CONNECTIONS_MAX: { summary: 'Open connections in total' },
  SVC_CONNECTIONS_PER_ADDRESS: { summary: 'Open connections of one address' },
  SVC_STREAMS_MAX: { summary: 'Event streams and WebSockets in total' },
  SVC_STREAMS_PER_ADDRESS: { summary: 'Event streams and WebSockets of one client' },
  SVC_METRICS_TOKEN: { summary: 'Opens /metrics from other machines', secret: true },
  SVC_ROLES: { summary: 'What this process does' },
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

/** Never readable by others, not for a moment, and never half written. */
export async function writeSettings(
  ctx: Pick<Context, 'configPath'>,
  changes: Readonly<Record<string, string | null>>,
): Promise<string> {
  const path = selfHostFile(ctx, 'env')
  const merged = { ...(await readSettings(ctx)), ...changes }
  const lines = Object.entries(merged)
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .map(([name, value]) => `${name}="${value.replace(/["\\$`]/g, '\\$&')}"\n`)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const aside = `${path}.${randomUUID()}.tmp`
  const file = await open(aside, 'wx', 0o600)
  try {
    await file.writeFile(`# Of svc self-host; applies at the next start.\n${lines.join('')}`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(aside, path)
  return path
}

/** `KEY=VALUE` of the command line. An empty value removes the setting. */
export function parseAssignments(words: readonly string[]): Record<string, string | null> {
  const changes: Record<string, string | null> = {}
  for (const word of words) {
    const at = word.indexOf('=')
    if (at <= 0) throw new UsageError(`Not KEY=VALUE: ${word}`, { next: ['svc self-host env set SVC_PORT=8421'] })
    const [name, value] = [word.slice(0, at), word.slice(at + 1)]
    if (!Object.hasOwn(settings, name)) {
      const meant = closest(name, Object.keys(settings))
      throw new UsageError(`The server knows no setting ${JSON.stringify(name)}`, {
        ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
        next: ['svc self-host env ls'],
      })
    }
    // A line of a file, and a part of an environment: neither can hold these.
    if (/[\n\r\0]/.test(value)) throw new UsageError(`The value of ${name} has to be one line`)
    changes[name] = value === '' ? null : value
  }
  return changes
}

/** By setting, so that a start can be compared with another without its values being kept twice. */
export function fingerprints(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.keys(settings)
      .filter((name) => (env[name] ?? '') !== '')
      .map((name) => [name, createHash('sha256').update(env[name]!).digest('hex').slice(0, 16)]),
  )
}

/** Enough to tell one from another, too little to use. */
export function masked(name: string, value: string): string {
  if (settings[name]?.secret !== true && !/(KEY|TOKEN|SECRET|PASSWORD)$/.test(name)) return value
  return value.length < 12 ? '••••' : `••••${value.slice(-4)}`
}

function broken(path: string, why: string): Refusal {
  return new Refusal('config_broken', `The settings of the server cannot be used: ${why}`, {
    hint: `Mend or move ${path}.`,
    detail: { path },
  })
}
