/** Changes of deploys together with their project events. */
import type { ProjectEventType } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent, shortened } from '../events/record.ts'
import { originOf } from '../sandboxes/private-origin.ts'
import {
  type AppRow,
  type Claim,
  claimDeploys,
  type DeployRow,
  endUnwanted,
  failDeploy,
  forgetReconciliationsOfDeleted,
  getApp,
  getDeploy,
  switchTo,
} from './store.ts'

type TransitionDeps = Pick<Deps, 'db' | 'config'>
interface Held {
  deployId: string
  instanceId: string
}

type DeployEvent = Extract<ProjectEventType, `deploy.${string}`>

async function recordDeployEvent(
  deps: Pick<Deps, 'config'>,
  trx: DbOrTransaction,
  type: DeployEvent,
  deploy: DeployRow,
): Promise<void> {
  const app = await getApp(trx, deploy.project_id, deploy.slug)
  await recordEvent(trx, {
    project_id: deploy.project_id,
    type,
    data: {
      app: deploy.slug,
      deploy_id: deploy.deploy_id,
      commit_sha: deploy.commit_sha,
      url: app === null ? null : originOf(deps.config, app.host),
      reason: deploy.error === null ? null : shortened(deploy.error),
    },
  })
}

export async function endUnwantedDeploys(
  deps: Pick<Deps, 'config'>,
  trx: DbOrTransaction,
  app?: Pick<AppRow, 'project_id' | 'slug'>,
): Promise<void> {
  const isOff = deps.config.appProvider === 'none'
  if (app === undefined) await forgetReconciliationsOfDeleted(trx)
  const stopped = await endUnwanted(trx, app === undefined ? { isOff } : { isOff, app })
  for (const deploy of stopped) await recordDeployEvent(deps, trx, 'deploy.stopped', deploy)
}

export async function claim(deps: TransitionDeps, input: Parameters<typeof claimDeploys>[1]): Promise<Claim[]> {
  return deps.db.transaction().execute(async (trx) => {
    const claims = await claimDeploys(trx, input)
    for (const one of claims) if (one.was === 'queued') await recordDeployEvent(deps, trx, 'deploy.started', one)
    return claims
  })
}

export async function fail(deps: TransitionDeps, deploy: Held, reason: string): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const failed = await failDeploy(trx, deploy, reason)
    if (failed !== null) await recordDeployEvent(deps, trx, 'deploy.failed', failed)
  })
}

export async function goLive(deps: TransitionDeps, deploy: Held): Promise<{ replaced: string | null } | null> {
  return deps.db.transaction().execute(async (trx) => {
    const switched = await switchTo(trx, deploy)
    const row = switched === null ? null : await getDeploy(trx, deploy.deployId)
    if (row !== null) await recordDeployEvent(deps, trx, 'deploy.live', row)
    return switched
  })
}
