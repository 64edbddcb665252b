/** Changes of deploys together with the events that tell of them. */
import type { ProjectEventType } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { recordEvent, shortened } from '../events/record.ts'
import { appOrigin } from './present.ts'
import {
  type AppRow,
  type Claim,
  claimDeploys,
  type DeployRow,
  endUnwanted,
  failDeploy,
  getApp,
  getDeploy,
  switchTo,
} from './store.ts'

type SettleDeps = Pick<Deps, 'db' | 'config'>
interface Held {
  deployId: string
  instanceId: string
}

type DeployEvent = Extract<ProjectEventType, `deploy.${string}`>

async function tell(
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
      url: app === null ? null : appOrigin(deps.config, app.host),
      reason: deploy.error === null ? null : shortened(deploy.error),
    },
  })
}

/** In a transaction of the caller's, or in one of its own. */
export async function endWhatIsUnwanted(
  deps: Pick<Deps, 'config'>,
  trx: DbOrTransaction,
  app?: Pick<AppRow, 'project_id' | 'slug'>,
): Promise<void> {
  const isOff = deps.config.appProvider === 'none'
  const stopped = await endUnwanted(trx, app === undefined ? { isOff } : { isOff, app })
  for (const deploy of stopped) await tell(deps, trx, 'deploy.stopped', deploy)
}

export async function claim(deps: SettleDeps, input: Parameters<typeof claimDeploys>[1]): Promise<Claim[]> {
  return deps.db.transaction().execute(async (trx) => {
    const claims = await claimDeploys(trx, input)
    for (const one of claims) if (one.was === 'queued') await tell(deps, trx, 'deploy.started', one)
    return claims
  })
}

export async function fail(deps: SettleDeps, deploy: Held, reason: string): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const failed = await failDeploy(trx, deploy, reason)
    if (failed !== null) await tell(deps, trx, 'deploy.failed', failed)
  })
}

/** Null when it is not wanted any more; else what it replaced. */
export async function goLive(deps: SettleDeps, deploy: Held): Promise<{ replaced: string | null } | null> {
  return deps.db.transaction().execute(async (trx) => {
    const switched = await switchTo(trx, deploy)
    const row = switched === null ? null : await getDeploy(trx, deploy.deployId)
    if (row !== null) await tell(deps, trx, 'deploy.live', row)
    return switched
  })
}
