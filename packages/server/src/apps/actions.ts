/** The requests about an app: deploy, stop, roll back. They write the wanted state; the reconciler applies it. */
import { type AppDeploy, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { presentDeploy, switchedOff } from './present.ts'
import {
  type DeployRow,
  endUnwantedDeploys,
  getDeploy,
  insertDeploy,
  listDeploys,
  lockApp,
  updateApp,
} from './store.ts'

type ActionDeps = Pick<Deps, 'db' | 'config' | 'newId' | 'apps'>
interface OnApp {
  project: ProjectRow
  slug: string
  caller: Caller
}

export async function deployApp(deps: ActionDeps, input: OnApp & { deployId: string }): Promise<AppDeploy> {
  const row = await deps.db.transaction().execute(async (trx) => {
    const app = await lockDeployable(deps, trx, input)
    // A retry of a request whose reply was lost.
    const made = await getDeploy(trx, input.deployId)
    if (made !== null) return made
    const { hash, commit_sha } = app
    if (hash === null || commit_sha === null)
      throw new ServiceError('conflict', 'The default branch has no commit to deploy from.')
    await updateApp(trx, app, { desired: 'running' })
    const waiting = (await listDeploys(trx, app)).find(({ status }) => status === 'queued')
    const deploy =
      waiting?.hash === hash
        ? waiting
        : await insertDeploy(trx, {
            deploy_id: input.deployId,
            project_id: app.project_id,
            slug: app.slug,
            hash,
            commit_sha,
            definition: JSON.stringify(app.definition),
            cause: 'request',
            created_by: input.caller.actor.user_id,
          })
    await recordAudit(trx, input.caller, auditOf(input, 'app.deploy', { after: factsOf(deploy) }))
    return deploy
  })
  deps.apps.enqueue()
  return presentDeploy(row)
}

export async function stopApp(deps: ActionDeps, input: OnApp): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const app = await lockApp(trx, input.project.project_id, input.slug)
    if (app === null) throw notFound('app')
    await updateApp(trx, app, { desired: 'stopped' })
    await endUnwantedDeploys(deps, trx, app)
    const live = app.live_deploy_id === null ? null : await getDeploy(trx, app.live_deploy_id)
    await recordAudit(trx, input.caller, auditOf(input, 'app.stop', { before: live === null ? null : factsOf(live) }))
  })
  deps.apps.enqueue()
}

/** A rollback is a new deploy of an earlier commit and definition. Later changes of the default branch deploy as usual. */
export async function rollbackApp(
  deps: ActionDeps,
  input: OnApp & { deployId: string; to: number | string | undefined },
): Promise<AppDeploy> {
  const row = await deps.db.transaction().execute(async (trx) => {
    const app = await lockDeployable(deps, trx, input)
    const made = await getDeploy(trx, input.deployId)
    if (made !== null) return made
    const deploys = await listDeploys(trx, app)
    const live = deploys.find(({ deploy_id }) => deploy_id === app.live_deploy_id) ?? null
    const target = targetOf(deploys, live, input.to)
    const definition = { ...target.definition, enabled: true }
    await updateApp(trx, app, { desired: 'running' })
    const deploy = await insertDeploy(trx, {
      deploy_id: input.deployId,
      project_id: app.project_id,
      slug: app.slug,
      hash: target.hash,
      commit_sha: target.commit_sha,
      definition: JSON.stringify(definition),
      cause: 'rollback',
      rollback_of: target.number,
      created_by: input.caller.actor.user_id,
    })
    const before = live === null ? null : factsOf(live)
    await recordAudit(trx, input.caller, auditOf(input, 'app.rollback', { before, after: factsOf(deploy) }))
    return deploy
  })
  deps.apps.enqueue()
  return presentDeploy(row)
}

async function lockDeployable(deps: Pick<Deps, 'config'>, trx: DbOrTransaction, { project, slug }: OnApp) {
  const app = await lockApp(trx, project.project_id, slug)
  if (app === null) throw notFound('app')
  if (deps.config.appProvider === 'none') throw new ServiceError('conflict', switchedOff)
  if (!app.enabled)
    throw new ServiceError('conflict', 'svc.toml disables this app.', {
      hint: 'Open a change request that removes enabled = false from its entry in svc.toml.',
    })
  return app
}

function targetOf(deploys: DeployRow[], live: DeployRow | null, to: number | string | undefined): DeployRow {
  if (to !== undefined) {
    const named = deploys.find(({ number, deploy_id }) => number === to || (isUuid(String(to)) && deploy_id === to))
    if (named === undefined) throw notFound('deploy')
    if (named.ready_at === null)
      throw new ServiceError('conflict', `Deploy #${named.number} never served, so it cannot be rolled back to.`)
    return named
  }
  // Another rollback goes further back, instead of undoing the last rollback.
  const before = live === null ? Number.POSITIVE_INFINITY : (live.rollback_of ?? live.number)
  const earlier = deploys.find(({ number, ready_at }) => ready_at !== null && number < before)
  if (earlier === undefined)
    throw new ServiceError('conflict', 'No earlier deploy of this app served.', {
      hint: 'Name one: svc apps rollback <app> --to <number>.',
    })
  return earlier
}

const factsOf = ({ number, commit_sha, hash, rollback_of }: DeployRow) => ({ number, commit_sha, hash, rollback_of })

function auditOf({ project, slug }: OnApp, action: string, facts: { before?: object | null; after?: object | null }) {
  return { ...auditEvent(project, action, 'app', slug), ...facts }
}
