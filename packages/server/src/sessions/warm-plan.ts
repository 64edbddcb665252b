/** What a warm sandbox of a project has to be made from now, and a fingerprint that tells whether it still is. */
import { createHash } from 'node:crypto'
import type { Manifest } from '@svc/contract'
import { bringObjects, listTree, type Repository } from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { type ModelCatalog, modelCatalog } from '../model-catalog/catalog.ts'
import { readManifestAt } from '../projects/manifest.ts'
import type { ProjectRow } from '../projects/store.ts'
import { modelEnvironment } from './boot-environment.ts'

export interface WarmPlan {
  /** Tip of the default branch. */
  commit: string
  manifest: Manifest
  model: string | null
  models: ModelCatalog
  fingerprint: string
}

export async function planWarm(
  deps: Pick<Deps, 'config' | 'db'>,
  repository: Repository,
  input: { project: ProjectRow; commit: string; model: string | null },
): Promise<WarmPlan> {
  const { project, commit, model } = input
  const manifest = await readManifestAt(repository, commit)
  const models = await modelCatalog(deps)
  const made = {
    repository: project.repo_url,
    branch: project.default_branch,
    secrets: project.secrets_revision,
    runtime: manifest.runtime,
    sandbox: manifest.sandbox,
    // The runtime asks for their tools when it starts, and their secrets stay out of the sandbox.
    connectors: manifest.connectors,
    // Agents and skills are read when the runtime starts, so other ones need another runtime.
    agents: await treeAt(repository, commit, manifest.runtime.config_dir),
    models: modelEnvironment(models, { key: '', model }),
    // What a setup command made of one commit says nothing of the next.
    setUpAt: manifest.sandbox.setup === undefined ? null : commit,
  }
  const fingerprint = createHash('sha256').update(JSON.stringify(made)).digest('hex')
  return { commit, manifest, model, models, fingerprint }
}

const trees = new LRUCache<string, { id: string | null }>({ max: 500 })

/** The id of a folder's tree, or null where there is none. */
async function treeAt(repository: Repository, commit: string, path: string): Promise<string | null> {
  const key = `${repository.dir} ${commit} ${path}`
  const known = trees.get(key)
  if (known !== undefined) return known.id
  await bringObjects(repository, [commit], {})
  const parts = path.split('/').filter(Boolean)
  const entries = await listTree(repository, { sha: commit, path: parts.slice(0, -1).join('/') })
  const id = entries?.find(({ name, type }) => name === parts.at(-1) && type === 'directory')?.sha ?? null
  trees.set(key, { id })
  return id
}
