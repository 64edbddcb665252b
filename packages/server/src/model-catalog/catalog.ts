/** The available models: those of the environment, otherwise those an owner saved for all servers. */
import { bareModelName, type ConfiguredModel } from '@svc/contract'
import { modelOfPattern, type UpstreamConfig } from '../config/models.ts'
import type { Deps } from '../deps.ts'
import { readSavedUpstream } from './store.ts'

export interface ModelCatalog {
  source: 'environment' | 'saved' | 'none'
  url: string | null
  hasKey: boolean
  /** The first is the default. */
  names: string[]
  upstreams: Pick<UpstreamConfig, 'shape' | 'models'>[]
  updatedAt: string | null
}

/** Reads the database each time, so that every server applies a change immediately. */
export async function modelCatalog(deps: Pick<Deps, 'config' | 'db'>): Promise<ModelCatalog> {
  const { model, modelUpstreams, modelNames } = deps.config
  if (model !== null) {
    const listed = modelUpstreams.list.flatMap(({ models }) => models.filter((each) => !each.includes('*')))
    return {
      source: 'environment',
      url: model.url,
      hasKey: model.key !== null,
      names: [...new Set([model.name, ...modelNames, ...listed])],
      upstreams: modelUpstreams.list,
      updatedAt: null,
    }
  }
  const saved = await readSavedUpstream(deps.db)
  if (saved === null) return { source: 'none', url: null, hasKey: false, names: [], upstreams: [], updatedAt: null }
  const { url, shape, models, sealed_key, updated_at } = saved
  const upstreams = [{ shape, models }]
  return { source: 'saved', url, hasKey: sealed_key !== null, names: models, upstreams, updatedAt: updated_at }
}

export function defaultModel({ names }: ModelCatalog): string | null {
  return names[0] ?? null
}

export function listedModels({ names }: ModelCatalog): ConfiguredModel[] {
  return names.map((name, index) => ({ id: name, name, default: index === 0 }))
}

/** By name, or by a pattern of an upstream. */
export function offersModel(catalog: ModelCatalog, model: string): boolean {
  const name = bareModelName(model)
  return catalog.names.includes(name) || upstreamOf(catalog, name) !== undefined
}

/** The API of the first upstream that offers the model; null means the default model. */
export function shapeOfModel(catalog: ModelCatalog, model: string | null): UpstreamConfig['shape'] {
  const name = model === null ? defaultModel(catalog) : bareModelName(model)
  return (name === null ? undefined : upstreamOf(catalog, name))?.shape ?? 'openai'
}

function upstreamOf({ upstreams }: ModelCatalog, name: string) {
  return upstreams.find(({ models }) => models.some((pattern) => modelOfPattern(pattern, name)))
}
