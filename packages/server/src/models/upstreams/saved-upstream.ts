/** The upstream an owner saved. Its key is sealed in the database, which all servers share. */
import type { UpstreamConfig } from '../../config/models.ts'
import type { Deps } from '../../deps.ts'
import { readSavedUpstream, type SavedUpstream } from '../../model-catalog/store.ts'
import type { Upstreams } from './upstreams.ts'

/** Replaces the project id in the sealing context, because this key belongs to no project. */
const sealContext = 'model upstream'
/** Binds the key to its URL, so that a copy in another row does not open. */
const aad = (url: string) => ['key', url] as const

type FollowDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction'>

export function sealKey(
  { keyring }: Pick<Deps, 'keyring'>,
  url: string,
  key: string | null,
): Pick<SavedUpstream, 'data_key' | 'sealed_key'> {
  if (key === null) return { data_key: null, sealed_key: null }
  const dataKey = keyring.newDataKey(sealContext)
  const sealed = keyring.seal({ projectId: sealContext, dataKey, aad: aad(url), value: key })
  return { data_key: dataKey, sealed_key: sealed }
}

export function openKey(deps: Pick<Deps, 'keyring' | 'redaction'>, saved: SavedUpstream): string | null {
  const { data_key: dataKey, sealed_key: sealed, url } = saved
  if (dataKey === null || sealed === null) return null
  const key = deps.keyring.open({ projectId: sealContext, dataKey, aad: aad(url), sealed })
  deps.redaction.learnOperator({ 'key of the model upstream': key })
  return key
}

const appliedRevisions = new WeakMap<Upstreams, string | null>()

/** Updates the gateway's upstreams to the saved one, unless the environment sets them. */
export async function followSavedUpstream(deps: FollowDeps, upstreams: Upstreams): Promise<void> {
  if (deps.config.model !== null) return
  const saved = await readSavedUpstream(deps.db)
  const revision = saved?.revision ?? null
  if (appliedRevisions.get(upstreams) === revision) return
  upstreams.use(saved === null ? [] : [asUpstream(deps, saved)])
  appliedRevisions.set(upstreams, revision)
}

function asUpstream(deps: FollowDeps, saved: SavedUpstream): UpstreamConfig {
  const key = openKey(deps, saved)
  const { url, shape, models } = saved
  return { name: 'saved', url, shape, keys: key === null ? [] : [key], models }
}
