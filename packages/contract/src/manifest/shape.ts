/** The tables of `svc.toml` and the type of each key. docs/guide/manifest.md describes them. */
import {
  choice,
  entries,
  type Field,
  flag,
  isTable,
  kindOf,
  list,
  number,
  optional,
  type Path,
  type Read,
  reader,
  relativePath,
  type Report,
  required,
  type Shaped,
  table,
  text,
  unknownKey,
  withDefault,
  wrong,
} from './fields.ts'
import { secretsNamedIn } from './app-env.ts'
import { refuseCron, refuseTimezone, refuseTime } from '../schemas/cron.ts'
import { misplacedPlaceholders, unknownPlaceholders } from './prompt-template.ts'
import { type SandboxSettings, sandboxShape } from './sandbox-settings.ts'
import { refuseSecretName } from '../schemas/secret-name.ts'

export const defaultConfigDir = '.svc/runtime'
export const promptTemplateCharsMax = 64 * 1024

const slugRule = {
  pattern: /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
  says: 'must be lower-case letters, digits and hyphens',
}
const slug = text({ ...slugRule, max: 64 })
const secretName = text({ max: 128, judge: (name) => refuseSecretName(name) })
const agentName = text({ max: 100, pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/, says: 'is not an agent name' })
const modelName = text({ max: 200, pattern: /^[\w.:/@-]+$/, says: 'is not a model name' })
const shellLine = text({ max: 4096 })
const title = text({ max: 200 })
const webAddress = text({
  max: 2048,
  pattern: /^https?:\/\/[^\s]+$/,
  says: 'must be an http or https address',
  judge: (url) =>
    !URL.canParse(url)
      ? 'must be an http or https address'
      : new URL(url).username || new URL(url).password
        ? 'contains a user name or password: name a secret in auth instead'
        : null,
})
/** Warns about a reserved name and omits it: no secret can have it. */
const envName: Read<string> = (value, path, report) => {
  const name = text({ max: 128 })(value, path, report)
  if (name === wrong) return wrong
  const refusal = refuseSecretName(name)
  if (refusal === null) return name
  report(path, refusal, { severity: /^SVC_/i.test(name) ? 'warning' : 'error' })
  return wrong
}

/** A program with its first arguments, as one text or as a list; never a shell line. */
const program: Read<string[]> = (value, path, report) => {
  if (Array.isArray(value)) {
    const words = list(text({ max: 1024 }), 32)(value, path, report)
    if (words !== wrong && words.length === 0) report(path, 'is empty')
    return words === wrong || words.length !== value.length || words.length === 0 ? wrong : words
  }
  const line = shellLine(value, path, report)
  return line === wrong ? wrong : line.trim().split(/\s+/)
}

const variables: Read<Record<string, string>> = (value, path, report) => {
  if (!isTable(value)) {
    report(path, `must be a table of names and texts, but is ${kindOf(value)}`)
    return wrong
  }
  const pairs = Object.entries(value).flatMap(([name, item]) => {
    const refusal = refuseSecretName(name)
    if (refusal !== null) report([...path, name], refusal, { place: 'key' })
    const read = text({ max: 16 * 1024 })(item, [...path, name], report)
    return refusal === null && read !== wrong ? [[name, read] as const] : []
  })
  return Object.fromEntries(pairs)
}

export interface ConnectorAuth {
  type: 'bearer' | 'header' | 'oauth'
  secret_env: string | null
  header: string | null
}

const authKeys = ['type', 'secret_env', 'header']
const headerName = text({ max: 100, pattern: /^[A-Za-z0-9-]+$/, says: 'is not a header name' })
const auth: Read<ConnectorAuth> = (value, path, report) => {
  if (!isTable(value)) {
    report(path, `must be a table such as { type = "bearer", secret_env = "NAME" }, but is ${kindOf(value)}`)
    return wrong
  }
  const before = report.errors()
  for (const key of Object.keys(value))
    if (!authKeys.includes(key))
      report([...path, key], unknownKey(key, authKeys), { severity: 'warning', place: 'key' })
  const type = choice('bearer', 'header', 'oauth')(value.type, [...path, 'type'], report)
  const secret = value.secret_env === undefined ? null : secretName(value.secret_env, [...path, 'secret_env'], report)
  const header = value.header === undefined ? null : headerName(value.header, [...path, 'header'], report)
  if (secret === null && (type === 'bearer' || type === 'header'))
    report([...path, 'secret_env'], 'is missing: it names the secret to send', { place: 'key' })
  if (header === null && type === 'header') report([...path, 'header'], 'is missing', { place: 'key' })
  if (report.errors() > before || type === wrong || secret === wrong || header === wrong) return wrong
  return { type, secret_env: secret, header }
}

/** A time with an offset, or a local time in the trigger's timezone. Also accepts TOML date-times. */
const time: Read<string> = (value, path, report) => {
  const written = value instanceof Date ? value.toISOString() : value
  return text({ max: 40, judge: refuseTime })(written, path, report)
}

const projectShape = { name: optional(title), description: optional(text({ max: 2000 })) }
const envShape = {
  required: withDefault(list(envName, 200), []),
  optional: withDefault(list(envName, 200), []),
}
const runtimeShape = {
  config_dir: withDefault(relativePath, defaultConfigDir),
  command: optional(program),
  model: optional(modelName),
}
const triggerShape = {
  slug: required(slug),
  type: required(choice('cron', 'webhook')),
  cron: optional(text({ max: 200, judge: refuseCron })),
  timezone: withDefault(text({ max: 64, judge: refuseTimezone }), 'UTC'),
  run_at: optional(time),
  agent: optional(agentName),
  model: optional(modelName),
  prompt: required(text({ max: promptTemplateCharsMax })),
  enabled: withDefault(flag, true),
  secret_env: optional(secretName),
}
const appShape = {
  slug: required(
    text({
      ...slugRule,
      max: 40,
      judge: (name) => (name.includes('--') ? 'contains two hyphens in a row, which its URL cannot contain' : null),
    }),
  ),
  command: optional(shellLine),
  static_dir: optional(relativePath),
  build: optional(shellLine),
  port: optional(number(1, 65_535, { whole: true })),
  env: withDefault(variables, {}),
  enabled: withDefault(flag, true),
}
const connectorShape = {
  slug: required(slug),
  type: required(choice('mcp', 'http')),
  url: required(webAddress),
  auth: optional(auth),
}
const channelShape = {
  platform: required(text({ max: 40, pattern: /^[a-z][a-z0-9-]*$/, says: 'is not the name of a chat platform' })),
  agent: optional(agentName),
  events: withDefault(list(text({ max: 100, pattern: /^[a-z][a-z0-9_.*-]*$/, says: 'is not an event name' }), 50), []),
}
const checkShape = { name: required(title), command: required(shellLine) }

export const manifestShape = {
  svc_version: withDefault(
    reader<1>((value) =>
      value === 1 ? null : `must be 1, but is ${typeof value === 'number' ? value : kindOf(value)}`,
    ),
    1,
  ),
  project: table(projectShape),
  env: table(envShape),
  runtime: table(runtimeShape),
  sandbox: table(sandboxShape) as Field<SandboxSettings>,
  triggers: entries(triggerShape, { id: 'slug', max: 100, check: checkTrigger }),
  apps: entries(appShape, { id: 'slug', max: 20, check: checkApp }),
  connectors: entries(connectorShape, { id: 'slug', max: 50 }),
  channels: entries(channelShape, { id: 'platform', max: 20 }),
  checks: entries(checkShape, { id: 'name', max: 50 }),
}

export type ManifestTrigger = Shaped<typeof triggerShape>
export type ManifestApp = Shaped<typeof appShape>
export type ManifestConnector = Shaped<typeof connectorShape>
export type ManifestChannel = Shaped<typeof channelShape>
export type ManifestCheck = Shaped<typeof checkShape>

/** Mistakes that two keys make together. */
function checkTrigger(trigger: ManifestTrigger, path: Path, report: Report): void {
  const lacks = (key: string, why: string) => report([...path, key], why, { place: 'key' })
  const stray = (key: string, why: string) => report([...path, key], why, { severity: 'warning', place: 'key' })
  for (const placeholder of unknownPlaceholders(trigger.prompt))
    report([...path, 'prompt'], `has an unknown placeholder: {{ ${placeholder} }}`, { severity: 'warning' })
  const other = trigger.type === 'cron' ? 'webhooks' : 'schedules'
  for (const placeholder of misplacedPlaceholders(trigger.prompt, trigger.type))
    report([...path, 'prompt'], `has a placeholder that only ${other} fill: {{ ${placeholder} }}`, {
      severity: 'warning',
    })
  if (trigger.type === 'cron') {
    if (trigger.cron === null && trigger.run_at === null) lacks('cron', 'is missing: say when, with cron or run_at')
    if (trigger.cron !== null && trigger.run_at !== null)
      lacks('run_at', 'cannot be combined with cron: a trigger has one of them')
    if (trigger.secret_env !== null) stray('secret_env', 'has no effect here: only webhooks are signed')
    return
  }
  if (trigger.secret_env === null) lacks('secret_env', 'is missing: it names the secret that signs the calls')
  if (trigger.cron !== null) stray('cron', 'has no effect on a webhook')
  if (trigger.run_at !== null) stray('run_at', 'has no effect on a webhook')
}

const takenPorts = [8000, 4096, 61080, 61081, 61082]

function checkApp(app: ManifestApp, path: Path, report: Report): void {
  if (app.command === null && app.static_dir === null)
    report([...path, 'command'], 'is missing: an app has a command or a static_dir', { place: 'key' })
  if (app.command !== null && app.static_dir !== null)
    report([...path, 'static_dir'], 'cannot be combined with command: an app has one of them', { place: 'key' })
  if (app.port !== null && takenPorts.includes(app.port))
    report([...path, 'port'], `is used by the sandbox itself (${takenPorts.join(', ')})`)
  for (const [name, value] of Object.entries(app.env))
    for (const secret of secretsNamedIn({ [name]: value }))
      if (refuseSecretName(secret) !== null)
        report([...path, 'env', name], `names a secret that is not allowed: ${secret.slice(0, 60)}`)
}
