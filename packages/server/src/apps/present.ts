import { type App, type AppDeploy, appPortDefault, type AppState, secretsNamedIn } from '@svc/contract'
import type { Config } from '../config.ts'
import { originOf } from '../sandboxes/private-origin.ts'
import { type AppRow, type DeployRow, liveStatuses, pendingStatuses } from './store.ts'

type PresentConfig = Pick<Config, 'publicUrl' | 'previewDomain' | 'appProvider'>

export const switchedOff =
  'App deployment is off on this server. To turn it on, run svc self-host env set SVC_APP_PROVIDER=local and restart the server.'

/** `deploys` newest first. */
export function presentApp(config: PresentConfig, row: AppRow, deploys: DeployRow[]): App {
  const { definition } = row
  const live = deploys.find(({ deploy_id }) => deploy_id === row.live_deploy_id) ?? null
  const next = deploys.find(({ status }) => pendingStatuses.includes(status)) ?? null
  return {
    slug: row.slug,
    ...stateOf(config, row, { live, next, newest: deploys[0] ?? null }),
    url: originOf(config, row.host),
    enabled: row.enabled,
    command: definition.command,
    static_dir: definition.static_dir,
    build: definition.build,
    port: definition.port ?? appPortDefault,
    secrets: secretsNamedIn(definition.env),
    live: live === null ? null : presentDeploy(live),
    next: next === null ? null : presentDeploy(next),
    deploys: deploys.map(presentDeploy),
  }
}

export function presentDeploy(row: DeployRow): AppDeploy {
  const { deploy_id, number, status, hash, commit_sha, cause, rollback_of, error } = row
  const { created_by, created_at, ready_at, ended_at } = row
  const times = { created_at, ready_at, ended_at }
  return { deploy_id, number, status, hash, commit_sha, cause, rollback_of, error, created_by, ...times }
}

function stateOf(
  config: PresentConfig,
  row: AppRow,
  { live, next, newest }: Record<'live' | 'next' | 'newest', DeployRow | null>,
): { state: AppState; reason: string | null } {
  if (config.appProvider === 'none') return { state: 'off', reason: switchedOff }
  if (live !== null && liveStatuses.includes(live.status)) {
    const isBehind = newest !== null && newest.status === 'failed' && newest.number > live.number
    const behind = isBehind
      ? `Deploy #${newest.number} failed: ${newest.error} Deploy #${live.number} still serves.`
      : null
    if (live.status === 'restarting') return { state: 'restarting', reason: live.error ?? behind }
    return { state: 'running', reason: behind }
  }
  if (!row.enabled) return { state: 'disabled', reason: 'svc.toml disables this app.' }
  if (row.desired === 'stopped') return { state: 'stopped', reason: `Start it again: svc apps deploy ${row.slug}` }
  if (next !== null) return { state: 'deploying', reason: null }
  if (newest?.status === 'failed') return { state: 'failed', reason: newest.error }
  if (newest?.status === 'stopped') return { state: 'stopped', reason: newest.error }
  return { state: 'waiting', reason: row.hash === null ? 'The default branch has no commit yet.' : null }
}
