import {
  emptyManifest,
  type Manifest,
  manifestBytesMax,
  type ManifestIssue,
  manifestPath,
  parseManifest,
} from '@svc/contract'
import { fetchObjects, type CallOptions, readFileAt, readTips, type Repository } from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { openRepository, unreachable } from './repository.ts'
import type { ProjectRow } from './store.ts'

export interface ManifestFile {
  manifest: Manifest
  issues: ManifestIssue[]
  /** The file as it is; null where the commit has none. */
  raw: string | null
}

/** Keyed by commit, so entries never go stale. A raw text can be 256 KiB, hence the limit by size. */
const parsed = new LRUCache<string, ManifestFile>({
  max: 1000,
  maxSize: 32 * 1024 * 1024,
  sizeCalculation: ({ raw, issues }) => 1000 + (raw?.length ?? 0) * 4 + issues.length * 200,
})
const noFile: ManifestFile = { manifest: emptyManifest, issues: [], raw: null }

/** The manifest of the default branch's tip; empty for a repository without one, or without a commit. */
export async function readManifest(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  project: ProjectRow,
): Promise<Manifest> {
  const repository = await openRepository(deps, project)
  const tips = await readTips(repository, [project.default_branch], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(project.default_branch)
  return sha === undefined ? emptyManifest : readManifestAt(repository, sha)
}

/** The manifest in one commit, which is fetched if needed. Broken parts are left out, so that a broken manifest does not block work on it. */
export async function readManifestAt(repository: Repository, sha: string): Promise<Manifest> {
  return (await readManifestFileAt(repository, sha)).manifest
}

export async function readManifestFileAt(
  repository: Repository,
  sha: string,
  options: CallOptions = {},
): Promise<ManifestFile> {
  const key = `${repository.dir} ${sha}`
  const known = parsed.get(key)
  if (known !== undefined) return known
  const fetched = await fetchObjects(repository, [sha], options)
  if (fetched.kind === 'unreachable') throw unreachable(fetched.reason)
  const found = await readFileAt(repository, { sha, path: manifestPath, bytesMax: manifestBytesMax + 1 }, options)
  const raw = found.kind === 'file' ? Buffer.from(found.content).toString('utf8') : null
  const file = raw === null ? noFile : { ...parseManifest(raw), raw }
  parsed.set(key, file)
  return file
}
