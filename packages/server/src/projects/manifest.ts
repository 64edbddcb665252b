import { emptyManifest, type Manifest, manifestBytesMax, manifestPath, parseManifest } from '@svc/contract'
import { bringObjects, readFileAt, readTips, type Repository } from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { openRepository, unreachable } from './repository.ts'
import type { ProjectRow } from './store.ts'

const parsed = new LRUCache<string, Manifest>({ max: 500 })

/** The manifest of the default branch as it is now. A repository without one, or without a commit, has an empty one. */
export async function readManifest(
  deps: Pick<Deps, 'config' | 'db' | 'keyring'>,
  project: ProjectRow,
): Promise<Manifest> {
  const repository = await openRepository(deps, project)
  const tips = await readTips(repository, [project.default_branch], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(project.default_branch)
  return sha === undefined ? emptyManifest : readManifestAt(repository, sha)
}

/** The manifest in one commit, brought here if it is not yet. What is broken in it is left out: a broken manifest stops nobody from working on it. */
export async function readManifestAt(repository: Repository, sha: string): Promise<Manifest> {
  const key = `${repository.dir} ${sha}`
  const known = parsed.get(key)
  if (known !== undefined) return known
  const brought = await bringObjects(repository, [sha], {})
  if (brought.kind === 'unreachable') throw unreachable(brought.reason)
  const file = await readFileAt(repository, { sha, path: manifestPath, bytesMax: manifestBytesMax + 1 })
  const manifest =
    file.kind !== 'file' ? emptyManifest : parseManifest(Buffer.from(file.content).toString('utf8')).manifest
  parsed.set(key, manifest)
  return manifest
}
