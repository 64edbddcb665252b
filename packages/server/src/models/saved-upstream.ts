/** The upstream that an owner of the instance saved: its key lies sealed in the database, which all servers share. */
import type { UpstreamConfig } from '../config-models.ts'
import type { Deps } from '../deps.ts'
import { readSavedUpstream, type SavedUpstream } from '../model-catalog/store.ts'
import type { Upstreams } from './upstreams.ts'

/** Stands for the project in the names of what is sealed: this key belongs to none. */
const sealedFor = 'model upstream'
/** Bound to its URL: a key that is copied to another row opens for no other upstream. */
const place = (url: string) => ['key', url] as const

type FollowDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction'>

export function sealKey(
  { keyring }: Pick<Deps, 'keyring'>,
  url: string,
  key: string | null,
): Pick<SavedUpstream, 'data_key' | 'sealed_key'> {
  if (key === null) return { data_key: null, sealed_key: null }
  const dataKey = keyring.newDataKey(sealedFor)
  const sealed = keyring.seal({ projectId: sealedFor, dataKey, aad: place(url), value: key })
  return { data_key: dataKey, sealed_key: sealed }
}

export function openKey(deps: Pick<Deps, 'keyring' | 'redaction'>, saved: SavedUpstream): string | null {
  const { data_key: dataKey, sealed_key: sealed, url } = saved
  if (dataKey === null || sealed === null) return null
  const key = deps.keyring.open({ projectId: sealedFor, dataKey, aad: place(url), sealed })
  deps.redaction.learnOperator({ 'key of the model upstream': key })
  return key
}

const followed = new WeakMap<Upstreams, string | null>()

/** Brings the gateway's list to what is saved now; the environment wins. */
export async function followSavedUpstream(deps: FollowDeps, upstreams: Upstreams): Promise<void> {
  if (deps.config.model !== null) return
  const saved = await readSavedUpstream(deps.db)
  const revision = saved?.revision ?? null
  if (followed.get(upstreams) === revision) return
  upstreams.use(saved === null ? [] : [asUpstream(deps, saved)])
  followed.set(upstreams, revision)
}

function asUpstream(deps: FollowDeps, saved: SavedUpstream): UpstreamConfig {
  const key = openKey(deps, saved)
  const { url, shape, models } = saved
  return { name: 'saved', url, shape, keys: key === null ? [] : [key], models }
}
