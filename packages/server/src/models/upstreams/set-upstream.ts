/** An owner of the instance sets the model upstream. A trial request precedes the save, so that only working settings are stored. */
import { type BodyOf, type ModelUpstream, ServiceError, type setModelUpstreamRoute } from '@svc/contract'
import { instanceOwnedBy } from '../../accounts/store.ts'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import { refuseExpiringToken } from '../../auth/fresh-sign-in.ts'
import type { Deps } from '../../deps.ts'
import { modelCatalog, shapeOfModel } from '../../model-catalog/catalog.ts'
import { deleteSavedUpstream, readSavedUpstream, writeSavedUpstream } from '../../model-catalog/store.ts'
import { openKey, sealKey } from './saved-upstream.ts'
import { tryUpstream } from './try-upstream.ts'

type SetDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'newId' | 'now'>
type ByUser = Caller<UserActor>

export async function readUpstream(deps: SetDeps, caller: ByUser): Promise<ModelUpstream> {
  await requireInstanceOwner(deps, caller)
  const catalog = await modelCatalog(deps)
  return {
    source: catalog.source,
    url: catalog.url,
    shape: shapeOfModel(catalog, null),
    models: catalog.names,
    has_key: catalog.hasKey,
    updated_at: catalog.updatedAt,
  }
}

export async function setUpstream(
  deps: SetDeps,
  input: BodyOf<typeof setModelUpstreamRoute> & { caller: ByUser; signal: AbortSignal },
): Promise<ModelUpstream> {
  const { caller, shape, signal } = input
  const accountId = await requireInstanceOwner(deps, caller)
  refuseEnvironmentModel(deps)
  refuseExpiringToken(caller.actor, 'the model upstream')
  const url = input.url.replace(/\/+$/, '')
  const models = [...new Set(input.models)]
  const before = await readSavedUpstream(deps.db)
  // Keep a key only for its own URL: another one must not receive it.
  const kept = input.key === undefined && before?.url === url ? openKey(deps, before) : null
  const key = input.key ?? kept
  if (key !== null) deps.redaction.learnOperator({ 'key of the model upstream': key })
  await tryUpstream({ url, shape, key, model: models[0]!, signal })
  const saved = { url, shape, models }
  await deps.db.transaction().execute(async (trx) => {
    await writeSavedUpstream(trx, {
      ...saved,
      ...sealKey(deps, url, key),
      revision: deps.newId(),
      updated_by: caller.actor.user_id,
      updated_at: deps.now(),
    })
    await recordAudit(trx, caller, {
      ...auditOf(accountId, 'set'),
      before: before === null ? null : { url: before.url, shape: before.shape, models: before.models },
      after: { ...saved, has_key: key !== null },
    })
  })
  return readUpstream(deps, caller)
}

export async function clearUpstream(deps: SetDeps, caller: ByUser): Promise<void> {
  const accountId = await requireInstanceOwner(deps, caller)
  refuseEnvironmentModel(deps)
  await deps.db.transaction().execute(async (trx) => {
    if (await deleteSavedUpstream(trx)) await recordAudit(trx, caller, auditOf(accountId, 'clear'))
  })
}

function auditOf(account_id: string, verb: 'set' | 'clear') {
  return auditEvent({ account_id }, `model_upstream.${verb}`, 'model_upstream', 'model_upstream')
}

/** Returns the first account. */
async function requireInstanceOwner({ db }: Pick<Deps, 'db'>, { actor }: ByUser): Promise<string> {
  const accountId = await instanceOwnedBy(db, actor.user_id)
  if (accountId !== null) return accountId
  throw new ServiceError('forbidden', 'Only an owner of this server can see or change its model upstream.', {
    hint: 'Ask an owner of the first account of this server.',
  })
}

function refuseEnvironmentModel({ config }: Pick<Deps, 'config'>): void {
  if (config.model === null) return
  const variable = config.modelUpstreams.file === null ? 'SVC_LLM_UPSTREAM_URL' : 'SVC_LLM_UPSTREAMS_FILE'
  throw new ServiceError('conflict', `${variable} is set for this server and takes precedence.`, {
    hint: `Change the model there, or remove ${variable} and restart the server.`,
  })
}
