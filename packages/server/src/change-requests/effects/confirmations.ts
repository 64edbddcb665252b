/** What of a changed svc.toml a person should confirm before the merge, as sentences. */
import { emptyManifest, type Manifest, secretsNamedIn } from '@svc/contract'
import type { ManifestFile } from '../../projects/manifest.ts'

export function confirmations(before: Manifest, file: Pick<ManifestFile, 'manifest' | 'issues'>): string[] {
  const { manifest: after } = file
  const all = [
    ...unreadable(before, file),
    ...after.apps.flatMap((app) => newSecrets(before, app)),
    ...after.connectors.flatMap((connector) => newGoals(before, connector)),
    ...newHosts(before, after),
  ]
  return [...new Set(all)]
}

/** A file that is ignored as a whole defines nothing, so all that it did ends. It reads as `emptyManifest`. */
export function unreadable(before: Manifest, after: Pick<ManifestFile, 'manifest' | 'issues'>): string[] {
  if (after.manifest !== emptyManifest || after.issues.length === 0 || before === emptyManifest) return []
  return ["svc.toml can't be read, so its triggers, apps, checks and settings all end."]
}

/** The secrets that an app did not get before. */
export function newSecrets(before: Manifest, { slug, env }: Manifest['apps'][number]): string[] {
  const had = secretsNamedIn(before.apps.find((one) => one.slug === slug)?.env ?? {})
  return secretsNamedIn(env)
    .filter((name) => !had.includes(name))
    .map((name) => `App ${slug} gets the secret ${name}.`)
}

/** Where a connector sends a secret that no connector of the project sent there before. */
export function newGoals(before: Manifest, { url, auth }: Manifest['connectors'][number]): string[] {
  const secret = auth?.secret_env ?? null
  if (secret === null) return []
  const { host, protocol } = new URL(url)
  const isKnown = before.connectors.some(
    (one) =>
      one.auth?.secret_env === secret && new URL(one.url).host === host && new URL(one.url).protocol === protocol,
  )
  if (isKnown) return []
  const how = protocol === 'https:' ? '' : ', unencrypted'
  return [`The secret ${secret} goes to ${host}${how}, where this project has not sent it before.`]
}

export function newHosts(before: Manifest, after: Manifest): string[] {
  const hosts = (after.sandbox.egress ?? []).filter((host) => !before.sandbox.egress?.includes(host))
  return hosts.length === 0 ? [] : [`Agents may reach ${hosts.join(', ')}, with every secret that their sessions have.`]
}
