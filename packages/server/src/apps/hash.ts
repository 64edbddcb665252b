/** One hash of everything an app is made from. An unchanged hash needs no deploy. */
import { createHash } from 'node:crypto'
import { type ManifestApp, secretsNamedIn } from '@svc/contract'
import { type CallOptions, listTree, type Repository } from '@svc/git'

/** `versions`: of the secrets of the project, by name. */
export async function appHash(
  repository: Repository,
  input: { app: ManifestApp; commit: string; versions: Map<string, number> },
  options: CallOptions,
): Promise<string> {
  const { app, commit, versions } = input
  // Enabling an app does not change what it is made from.
  const { enabled: _, ...entry } = app
  const secrets = secretsNamedIn(app.env).map((name) => [name, versions.get(name) ?? 0])
  const text = JSON.stringify([ordered(entry), await sourceOf(repository, app, commit, options), secrets])
  return createHash('sha256').update(text).digest('hex')
}

/** A static app is made from its folder. Any other app is made from the whole repository except svc.toml, whose entry is hashed separately. */
async function sourceOf(
  repository: Repository,
  app: ManifestApp,
  commit: string,
  options: CallOptions,
): Promise<string[]> {
  const folder = app.build === null && app.static_dir !== null ? app.static_dir : ''
  const entries = (await listTree(repository, { sha: commit, path: folder }, options)) ?? []
  return entries
    .filter(({ name }) => folder !== '' || name !== 'svc.toml')
    .map(({ name, type, sha }) => `${type} ${sha} ${name}`)
    .sort()
}

/** Sorts keys, because PostgreSQL reorders those of jsonb. */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, ordered(item)])
}
