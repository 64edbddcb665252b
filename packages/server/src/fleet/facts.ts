/** Each server records for the others some settings that have to be the same, and whether its sandboxes start. */
import { retentionKinds } from '@svc/contract'
import type { Config } from '../config.ts'
import { retentionSetting } from '../config/retention.ts'
import { withDeadline } from '../deadline.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { answererText, type AskingDeps, isReachable, whoAnswers } from './reachable.ts'
import { findServer, recordSandboxes, type ServerWithProjects, serversWithProjects } from './store.ts'

export type SharedSettings = Record<string, string>

/** A difference in one of these does harm without an error. None is a secret. */
export function sharedSettings(
  config: Pick<Config, 'publicUrl' | 'previewDomain' | 'replica' | 'keepDays'>,
): SharedSettings {
  const kept = retentionKinds.map((kind) => {
    const days = config.keepDays[kind]
    return [retentionSetting(kind), days === null ? 'forever' : `${days}d`] as const
  })
  return {
    ...Object.fromEntries(kept),
    SVC_PUBLIC_URL: config.publicUrl,
    SVC_PREVIEW_DOMAIN: config.previewDomain ?? '',
    SVC_REPLICA: config.replica,
  }
}

export interface DifferentSetting {
  name: string
  /** On the other server. Empty: not set. */
  value: string
  /** On this one. */
  here: string
}

function differentSettings(here: SharedSettings, there: SharedSettings | null): DifferentSetting[] {
  return Object.entries(here).flatMap(([name, value]) => {
    const other = there?.[name]
    return other === undefined || other === value ? [] : [{ name, value: other, here: value }]
  })
}

type ProbedDeps = Pick<Deps, 'config' | 'db' | 'home' | 'sandboxes' | 'serverName'>

/** Records whether sandboxes can start here. A job: a program that was missing may be installed while the server runs. */
export async function recordOwnSandboxes(deps: ProbedDeps): Promise<void> {
  const { config, db, home, sandboxes, serverName } = deps
  if (home === null || !config.roles.worker) return
  const probe = await sandboxes?.probe()
  const problem = probe === undefined ? 'SVC_SANDBOX_DRIVER is none.' : probe.kind === 'missing' ? probe.problem : null
  await recordSandboxes(db, serverName, problem)
}

/** The test of a cluster may take longer; the job records it then. */
const probeMsMax = 5_000

/** Before the other servers see this one, so that none gives it a project that it cannot work on. */
export async function recordFirstSandboxes(deps: ProbedDeps): Promise<void> {
  await withDeadline(recordOwnSandboxes(deps), probeMsMax, () => null)
}

/** Of another server that runs, the settings that it has otherwise than this one. */
export function differencesAt(
  { server_name, running, settings }: ServerWithProjects,
  { config, serverName }: Pick<Deps, 'config' | 'serverName'>,
): DifferentSetting[] {
  return running && server_name !== serverName ? differentSettings(sharedSettings(config), settings) : []
}

/** Running servers that have another setting than this one. */
export function unlikeServers(
  servers: ServerWithProjects[],
  own: Pick<Deps, 'config' | 'serverName'>,
): { name: string; different: DifferentSetting[] }[] {
  return servers
    .map((server) => ({ name: server.server_name, different: differencesAt(server, own) }))
    .filter(({ different }) => different.length > 0)
}

export function differenceText(server: string, { name, value, here }: DifferentSetting): string {
  return `${name} is ${value || 'not set'} on the server ${server}, and ${here || 'not set'} here`
}

/**
 * Null: this server is reached at the address where the others look for it. Sees no firewall in between. Without the
 * keys of the servers (null), only whether something accepts connections there.
 */
export async function ownAddressProblem(
  asking: AskingDeps | null,
  peerUrl: string,
): Promise<{ says: string; mend: string } | null> {
  const answering = asking && (await whoAnswers(asking, { server_name: asking.serverName, peer_url: peerUrl }))
  if (answering?.kind === 'other')
    return {
      says: `${peerUrl}, the SVC_PEER_URL of this server, leads to ${answererText(answering)}`,
      mend: 'Set SVC_PEER_URL to an address that leads to this server alone.',
    }
  if (answering?.kind === 'itself' || (await isReachable(peerUrl))) return null
  const setting = peerUrl.startsWith('https:') ? 'SVC_PEER_LISTEN or SVC_HOST' : 'SVC_HOST'
  const all = 'such as 0.0.0.0 for all of its own'
  const reached = `${setting} to an address at which the other servers reach this machine, ${all}.`
  const own = asking && listensAt(asking.config, peerUrl)
  return {
    says: `nothing accepts connections at ${peerUrl}, the SVC_PEER_URL of this server`,
    mend:
      own === null
        ? `Set ${reached}`
        : `For the other servers, this one listens at ${own}. Set SVC_PEER_URL to an address that leads there, or ${reached}`,
  }
}

function listensAt({ host, port, peerListen }: Config, peerUrl: string): string {
  const at = peerUrl.startsWith('https:') && peerListen !== null ? peerListen : { host, port }
  return `${at.host.includes(':') ? `[${at.host}]` : at.host}:${at.port}`
}

export async function isDraining(db: DbOrTransaction, serverName: string): Promise<boolean> {
  return (await findServer(db, { server_name: serverName }))?.draining_since != null
}

/** Lines for the start of a server. Also logged, for operators who do not see the terminal. */
export async function fleetWarnings(deps: Deps, command: string): Promise<string[]> {
  const { config, db, home, heartbeat, log, serverName } = deps
  if (home === null) return []
  const servers = await serversWithProjects(db, heartbeat.deadAfterSeconds())
  const warnings = unlikeServers(servers, { config, serverName }).flatMap(({ name, different }) =>
    different.map((each) => `${differenceText(name, each)}. It has to be the same on every server.`),
  )
  const unheard = config.peerUrl === null ? null : await ownAddressProblem(deps, config.peerUrl)
  if (unheard !== null) warnings.push(`From this machine, ${unheard.says}. ${unheard.mend}`)
  if (await isDraining(db, serverName))
    warnings.push(
      `This server is being drained: it takes no projects, and those it has move away. To end that: ${command} self-host drain ${serverName} --off`,
    )
  for (const warning of warnings) log.warn(warning)
  return warnings.length === 0 ? [] : [...warnings.map((warning) => `  Warning: ${warning}`), '']
}
