/** The inputs of a warm sandbox of a project, and a fingerprint that detects outdated ones. */
import { createHash } from 'node:crypto'
import type { Manifest } from '@svc/contract'
import type { Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { type ModelCatalog, modelCatalog } from '../../model-catalog/catalog.ts'
import { readManifestAt } from '../../projects/manifest.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { modelEnvironment } from '../lifecycle/boot-environment.ts'
import { folderIdAt, runtimeSettingsAt } from '../refresh/runtime-files.ts'

export interface WarmPlan {
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
    // The runtime lists their tools when it starts.
    connectors: manifest.connectors,
    // The runtime reads agents and skills when it starts.
    agents: await folderIdAt(repository, commit, manifest.runtime.config_dir),
    models: modelEnvironment(models, { key: '', model }),
    settings: await runtimeSettingsAt(repository, commit),
    // The result of a setup command is valid for one commit only.
    setUpAt: manifest.sandbox.setup === undefined ? null : commit,
  }
  const fingerprint = createHash('sha256').update(JSON.stringify(made)).digest('hex')
  return { commit, manifest, model, models, fingerprint }
}
