/** What each server tells the others about itself: settings that have to be the same, and whether its sandboxes start. */
import type { Config } from '../config.ts'
import { withDeadline } from '../deadline.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { findServer, recordSandboxes, type ServerWithProjects, serversWithProjects } from './store.ts'

export type SharedSettings = Record<string, string>

/** Of those that have to be the same, the ones without secrets whose difference does harm without a word. */
export function sharedSettings(config: Pick<Config, 'publicUrl' | 'previewDomain' | 'replica'>): SharedSettings {
  return {
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

export function differentSettings(here: SharedSettings, there: SharedSettings | null): DifferentSetting[] {
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

/** Running servers that have another setting than this one. */
export function unlikeServers(
  config: Config,
  { servers, serverName }: { servers: ServerWithProjects[]; serverName: string },
): { name: string; different: DifferentSetting[] }[] {
  return servers.flatMap(({ server_name: name, running, settings }) => {
    const different = running && name !== serverName ? differentSettings(sharedSettings(config), settings) : []
    return different.length === 0 ? [] : [{ name, different }]
  })
}

export function differenceText(server: string, { name, value, here }: DifferentSetting): string {
  return `${name} is ${value || 'not set'} on the server ${server}, and ${here || 'not set'} here`
}

export async function isDraining(db: DbOrTransaction, serverName: string): Promise<boolean> {
  return (await findServer(db, { server_name: serverName }))?.draining_since != null
}

/** Lines for the start of a server. Also logged, for operators who do not see the terminal. */
export async function fleetWarnings(
  { config, db, home, heartbeat, log, serverName }: Deps,
  command: string,
): Promise<string[]> {
  if (home === null) return []
  const servers = await serversWithProjects(db, heartbeat.deadAfterSeconds())
  const warnings = unlikeServers(config, { servers, serverName }).flatMap(({ name, different }) =>
    different.map((each) => `${differenceText(name, each)}. It has to be the same on every server.`),
  )
  if (await isDraining(db, serverName))
    warnings.push(
      `This server is being drained: it takes no projects, and those it has move away. To end that: ${command} self-host drain ${serverName} --off`,
    )
  for (const warning of warnings) log.warn(warning)
  return warnings.length === 0 ? [] : [...warnings.map((warning) => `  Warning: ${warning}`), '']
}
