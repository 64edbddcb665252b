import { count } from '@svc/contract/count'
import { databaseUrlOfShell } from '@svc/contract/shell-words'
import type { SandboxDriver } from '@svc/sandbox'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ensureOwner } from '../accounts/first-start.ts'
import { makeOwnerLink } from '../accounts/sign-in/owner-link.ts'
import { hasDashboardSessions } from '../auth/dashboard-session.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { defaultModel, modelCatalog } from '../model-catalog/catalog.ts'
import { modelPagePath } from '../model-catalog/require-model.ts'
import type { AskModel } from '../models/upstreams/first-model.ts'
import { fleetWarnings } from '../fleet/facts.ts'
import { missingNeeds } from '../doctor/examine-needs.ts'
import { findLostRepositories } from '../doctor/lost-repositories.ts'
import { driverAdvice, missingDrivers } from './choose-driver.ts'
import { quoted, shellSettings } from './shell-command.ts'
import { mintToken } from '../tokens/mint.ts'

export interface StartupHooks {
  /** Stores the owner's token for the client on this machine, never over an existing one. Returns where, or null when it was left alone. */
  rememberOwner: (owner: { url: string; token: string; dataDir: string }) => Promise<string | null>
  /** Every variable that the server reads. */
  knownSettings: () => Promise<string[]>
  /** Asks the person at the terminal for a model; absent without a terminal. */
  askModel?: AskModel
  /** In place of the drivers of the product, so that benchmarks measure a whole server without its sandboxes. */
  makeDriver?: () => Promise<SandboxDriver>
}

/**
 * Creates the owner at the first start and passes their token to the client. Returns a function that answers with the
 * lines to show: it waits for the test of the sandbox driver, which takes seconds in a cluster.
 */
export async function greet(
  deps: Deps,
  hooks: StartupHooks,
  command: string,
  joins: string | null = null,
): Promise<() => Promise<string>> {
  const owner = await ensureOwner(deps)
  const { publicUrl, dataDir, masterKeyFile, peerUrl } = deps.config
  const lines = ['', `  svc is ready.`, '', `  Dashboard    ${publicUrl}`, `  Data         ${dataDir}`]
  const { held } = deps.hold
  if (held !== null)
    lines.push(
      `  Held         restored from a backup of ${held.backup_created_at}: it answers reads only, and nothing acts.`,
      `               To let it act, once its original is off: ${selfHostCommand(deps.config, command, 'resume')}`,
    )
  // Other servers share the database, and projects name their home by this name.
  if (peerUrl !== null) lines.push(`  Server       ${deps.serverName} (other servers reach it at ${peerUrl})`)
  lines.push(`  Master key   ${masterKeyFile} (back it up apart from the data)`)
  if (owner.isNew) {
    const token = await mintToken(
      deps,
      deps.db,
      { name: 'first start', user_id: owner.user_id },
      deps.config.bootstrapToken ?? undefined,
    )
    const storedAt = await hooks.rememberOwner({ url: publicUrl, token: token.secret_key, dataDir })
    if (storedAt !== null) lines.push(`  Client       signed in (${storedAt})`)
    else lines.push(`  Client       unchanged: it has another token for this host. To use this server: svc login`)
  }
  if (!(await hasDashboardSessions(deps.db)))
    lines.push(
      `  Owner link   ${(await makeOwnerLink(deps, owner.user_id)).url}`,
      '               (signs you in once, within 24 hours)',
    )
  else lines.push(`  Owner link   ${selfHostCommand(deps.config, command, 'owner-link')}`)
  lines.push('', ...(joins === null ? [] : [`  Warning: ${joins}`]), ...withoutEffect(deps))
  return async () =>
    [
      ...lines,
      ...(await withoutNeeds(deps)),
      ...(await withoutRepository(deps)),
      ...(await fleetWarnings(deps, command)),
      ...(await nextSteps(deps, command)),
      '',
    ].join('\n')
}

async function withoutNeeds({ config, log }: Deps): Promise<string[]> {
  const lacks = await missingNeeds(config)
  for (const { name, says, mend } of lacks) log.warn({ mend }, `${name}: ${says}`)
  return lacks.flatMap(({ name, says, mend }) => [
    `  Warning: ${name}: ${says}.`,
    ...(mend === null ? [] : [`           ${mend}`]),
    '',
  ])
}

/** Every request for these projects fails until the operator acts. */
async function withoutRepository({ db, config, serverName, home, log, now }: Deps): Promise<string[]> {
  const found = await findLostRepositories(db, { config, serverName: home === null ? null : serverName, now: now() })
  if (found === null) return []
  log.warn({ mend: found.mend }, found.says)
  return [`  Warning: ${found.says}.`, `           ${found.mend}`, '']
}

/** Also logged, for operators who do not see the terminal. */
function withoutEffect({ config, log }: Deps): string[] {
  for (const warning of config.warnings) log.warn(warning)
  return config.warnings.map((warning) => `  Warning: ${warning}`)
}

/** As the first process of a container, the server ends the container, and every sandbox in it. */
function whatStops({ sandboxes, config }: Deps, command: string): string[] {
  const isFirst = sandboxes?.name === 'local' && sessionOf('self') === sessionOf('1')
  const goOn = sandboxes?.outlives === true && !isFirst
  // In the background, no key reaches the server.
  const what = process.stdin.isTTY ? 'Ctrl-C stops the server' : 'When the server stops'
  if (!goOn) return [process.stdin.isTTY ? '  Ctrl-C stops everything.' : `  ${what}, everything stops.`]
  const joint = process.stdin.isTTY ? ';' : ','
  return [`  ${what}${joint} agents, apps and checks go on. To end them: ${endCommand(config, command)}`]
}

/** With the settings that find this server, also once it is stopped. The shell that started it has the URL, which holds a password. */
function selfHostCommand(config: Config, command: string, words: string, more = ''): string {
  const url = config.databaseUrl === null ? '' : `${databaseUrlOfShell} `
  return `${shellSettings(config)}${url}${more}${command} self-host ${words}`
}

/** Once the server is stopped, the command works on its projects itself, which one of several servers does by its name. */
function endCommand(config: Config, command: string): string {
  const { publicUrl, peerUrl } = config
  const peer = peerUrl === null ? '' : `SVC_PUBLIC_URL=${quoted(publicUrl)} SVC_PEER_URL=${quoted(peerUrl)} `
  return selfHostCommand(config, command, 'stop --sessions', peer)
}

/** Printed by a server that stops. */
export function wordsOnLeft(
  config: Config,
  left: { sessions: number; apps: number; checks: number },
  command: string,
): string {
  const counts = Object.entries(left).flatMap(([nouns, number]) =>
    number === 0 ? [] : [count(number, nouns.slice(0, -1))],
  )
  if (counts.length === 0) return ''
  const what = new Intl.ListFormat('en').format(counts)
  const [goes, them] = what.startsWith('1 ') && counts.length === 1 ? ['goes', 'it'] : ['go', 'them']
  return `\n  ${what} ${goes} on; the next start of the server continues ${them}.\n  To end ${them}: ${endCommand(config, command)}\n`
}

/** The session of processes, in the sense of POSIX: a container's command and what it runs have that of its first process. */
function sessionOf(pid: string): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3] ?? null
  } catch {
    // Systems other than Linux.
    return null
  }
}

async function nextSteps(deps: Deps, command: string): Promise<string[]> {
  const probe = await deps.sandboxes?.probe()
  // For operators who read the log and not the terminal.
  if (probe?.kind === 'ready' && probe.missingLimits.length > 0)
    deps.log.warn({ missing_limits: probe.missingLimits }, 'sandboxes run without some resource limits')
  if (probe === undefined) return ['  Sessions are off: SVC_SANDBOX_DRIVER is none.']
  if (probe.kind === 'missing')
    return driverAdvice(await missingDrivers(deps.config, dirname(dirname(deps.relaySocket)), deps.log), { command })
  const chosen = defaultModel(await modelCatalog(deps))
  const model =
    chosen === null
      ? [
          '  No model is configured, so agents cannot work yet. Set one in the dashboard:',
          `      ${deps.config.publicUrl}${modelPagePath}`,
          '  or start the server with SVC_LLM_UPSTREAM_URL, SVC_LLM_UPSTREAM_KEY and SVC_LLM_MODEL.',
          '  To try everything in two minutes without one, with a scripted model:',
        ]
      : [`  Model        ${chosen}`, '  To try everything in two minutes:']
  return [
    ...probe.warnings.map((warning) => `  Warning: ${warning}`),
    ...model,
    '',
    `      ${command} tour`,
    '',
    ...whatStops(deps, command),
  ]
}
