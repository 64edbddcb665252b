/** Files of the repository that the agent runtime reads only when it starts. */
import type { Manifest } from '@svc/contract'
import { fetchObjects, listTree, type Repository, type TreeEntry } from '@svc/git'
import { LRUCache } from 'lru-cache'
import { unreachable } from '../../projects/repository.ts'
import type { InForce } from './in-force.ts'

const settingsNames = ['opencode.json', 'opencode.jsonc', '.opencode']
const known = new LRUCache<string, TreeEntry[]>({ max: 500 })

/** The configuration that a sandbox runs with when it starts at `commit` of the default branch. */
export async function inForceAt(repository: Repository, commit: string, manifest: Manifest): Promise<InForce> {
  const { runtime, sandbox } = manifest
  return {
    commit,
    config_dir: runtime.config_dir,
    agents: await folderIdAt(repository, commit, runtime.config_dir),
    egress: sandbox.egress ?? null,
    idle_minutes: sandbox.idle_minutes ?? null,
    made_with: {
      'runtime.command': runtime.command === null ? null : JSON.stringify(runtime.command),
      'sandbox.cpu': sandbox.cpu === undefined ? null : String(sandbox.cpu),
      'sandbox.memory': sandbox.memory ?? null,
      'sandbox.disk': sandbox.disk ?? null,
      'sandbox.setup': sandbox.setup ?? null,
      'sandbox.dockerfile': sandbox.dockerfile ?? null,
      'sandbox.image': sandbox.image ?? null,
    },
  }
}

/** The id of a folder's tree, or null where there is none. */
export async function folderIdAt(repository: Repository, commit: string, path: string): Promise<string | null> {
  const parts = path.split('/').filter(Boolean)
  const [entry] = await entriesAt(repository, commit, parts.slice(0, -1).join('/'), parts.slice(-1))
  return entry?.type === 'directory' ? entry.sha : null
}

export async function runtimeSettingsAt(repository: Repository, commit: string): Promise<string[]> {
  const entries = await entriesAt(repository, commit, '', settingsNames)
  return entries.map(({ name, sha }) => `${name} ${sha}`)
}

async function entriesAt(repository: Repository, commit: string, path: string, names: string[]): Promise<TreeEntry[]> {
  const key = JSON.stringify([repository.dir, commit, path, names])
  const found = known.get(key)
  if (found !== undefined) return found
  const fetched = await fetchObjects(repository, [commit], {})
  if (fetched.kind === 'unreachable') throw unreachable(fetched.reason)
  const entries = ((await listTree(repository, { sha: commit, path })) ?? []).filter(({ name }) => names.includes(name))
  known.set(key, entries)
  return entries
}
