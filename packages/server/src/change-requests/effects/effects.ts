/** Lists what merging a change request does beyond code. Compares the merge base with the head, so changes made on the base since do not count. */
import {
  type ConnectorGoal,
  emptyManifest,
  type Manifest,
  type ManifestConnector,
  type MergeEffects,
} from '@svc/contract'
import { listTree, type Repository } from '@svc/git'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { readManifestFileAt } from '../../projects/manifest.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { listSecrets } from '../../secrets/store.ts'
import { type SecretUse, secretUses } from '../../secrets/uses.ts'
import { addedSecrets } from './added-secrets.ts'
import type { PairDeps } from '../preview/commit-pair.ts'
import { effectDetails } from './details.ts'
import { effectLabels } from './labels.ts'

type Change = 'added' | 'changed' | 'removed'

export async function effectsOf(
  deps: PairDeps,
  input: {
    project: ProjectRow
    /** The reader. An agent learns nothing about secrets its session was not given. */
    caller: Pick<Caller, 'actor'>
    baseRef: string
    baseSha: string
    repository: Repository
    mergeBase: string | null
    headSha: string
    signal: AbortSignal
  },
): Promise<MergeEffects> {
  const { project, caller, repository, baseSha, mergeBase, headSha, signal } = input
  const secrets_added = await addedSecrets(deps, { project, caller, repository, baseSha, headSha, signal })
  const options = { signal }
  const file = await readManifestFileAt(repository, headSha, options)
  const { manifest: after, issues } = file
  // The gate of the project refuses an invalid svc.toml into every branch.
  const elsewhere = { ...nothing, secrets_added, manifest_issues: issues }
  if (input.baseRef !== project.default_branch) return { ...elsewhere, words: effectLabels(elsewhere, []) }
  const before =
    mergeBase === null ? emptyManifest : (await readManifestFileAt(repository, mergeBase, options)).manifest
  const folder = (sha: string | null, path: string) => namesIn(repository, sha, path, signal)
  const ofConfig = async (name: string) =>
    compareNames(
      await folder(mergeBase, `${before.runtime.config_dir}/${name}`),
      await folder(headSha, `${after.runtime.config_dir}/${name}`),
    )
  const [skills, agents] = [await ofConfig('skills'), await ofConfig('agents')]
  const effects = {
    applies: true,
    triggers: triggerChanges(before, after),
    apps: await appChanges(before, after, folder, { mergeBase, headSha }),
    skills,
    agents: agents.filter(({ name }) => name.endsWith('.md')).map((one) => ({ ...one, name: one.name.slice(0, -3) })),
    connectors: connectorChanges(before, after),
    channels: compareEntries(before.channels, after.channels, ({ platform }) => platform),
    checks: compareEntries(before.checks, after.checks, ({ name }) => name),
    settings: (['env', 'runtime', 'sandbox'] as const).flatMap((table) =>
      changedKeys(table, before[table], after[table]),
    ),
    secrets_added,
    secrets_missing: await missingSecrets(deps, project, { before, after }),
    manifest_issues: issues,
  }
  return {
    ...effects,
    details: effectDetails(before, file, effects, deps.now()),
    words: effectLabels({ ...effects, details: [], words: [] }, after.triggers),
  }
}

const nothing: MergeEffects = {
  ...{ applies: false, triggers: [], apps: [], skills: [], agents: [], connectors: [], channels: [], checks: [] },
  ...{ settings: [], secrets_added: [], secrets_missing: [], manifest_issues: [], details: [], words: [] },
}

/** Maps each file or folder to the id of its content. */
async function namesIn(repository: Repository, sha: string | null, path: string, signal: AbortSignal) {
  if (sha === null) return new Map()
  const entries = await listTree(repository, { sha, path }, { signal })
  return new Map((entries ?? []).map((entry) => [entry.name, entry.sha]))
}

function compareNames(before: Map<string, string>, after: Map<string, string>): { name: string; change: Change }[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort()
  return names.flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)]
    if (was === is) return []
    return [{ name, change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed' }]
  })
}

function compareEntries<T>(before: T[], after: T[], nameOf: (entry: T) => string) {
  const texts = (entries: T[]) => new Map(entries.map((entry) => [nameOf(entry), JSON.stringify(entry)]))
  return compareNames(texts(before), texts(after))
}

function triggerChanges(before: Manifest, after: Manifest): MergeEffects['triggers'] {
  const wasOn = new Map(before.triggers.map(({ slug, enabled }) => [slug, enabled]))
  const isOn = new Map(after.triggers.map(({ slug, enabled }) => [slug, enabled]))
  return compareEntries(before.triggers, after.triggers, ({ slug }) => slug).map(({ name, change }) => {
    const [was, is] = [wasOn.get(name), isOn.get(name)]
    if (change !== 'changed' || was === is) return { slug: name, change }
    return { slug: name, change: is === true ? 'enabled' : 'disabled' }
  })
}

function connectorChanges(before: Manifest, after: Manifest): MergeEffects['connectors'] {
  const goals = ({ connectors }: Manifest) => new Map(connectors.map((one) => [one.slug, goalOf(one)]))
  const [went, goes] = [goals(before), goals(after)]
  return compareEntries(before.connectors, after.connectors, ({ slug }) => slug).map((one) => ({
    ...one,
    goes: goes.get(one.name) ?? null,
    went: went.get(one.name) ?? null,
  }))
}

function goalOf({ url, auth }: ManifestConnector): ConnectorGoal {
  const { host, protocol } = new URL(url)
  return { host, encrypted: protocol === 'https:', secret: auth?.secret_env ?? null }
}

/** An app is built from the repository or serves one folder of it; in the second case that folder's content decides. */
async function appChanges(
  before: Manifest,
  after: Manifest,
  folder: (sha: string | null, path: string) => Promise<Map<string, string>>,
  { mergeBase, headSha }: { mergeBase: string | null; headSha: string },
): Promise<MergeEffects['apps']> {
  const changed: MergeEffects['apps'] = compareEntries(before.apps, after.apps, ({ slug }) => slug).map(
    ({ name, change }) => ({ slug: name, change }),
  )
  for (const app of after.apps) {
    if (!app.enabled || changed.some(({ slug }) => slug === app.slug)) continue
    const source = app.build === null && app.static_dir !== null ? app.static_dir : ''
    const differs = compareNames(await folder(mergeBase, source), await folder(headSha, source))
    if (differs.some(({ name }) => source !== '' || name !== 'svc.toml'))
      changed.push({ slug: app.slug, change: 'redeployed' })
  }
  return changed
}

function changedKeys(table: string, before: object, after: object): string[] {
  const [was, is] = [Object.entries(before), Object.entries(after)].map((pairs) => new Map(pairs))
  const keys = [...new Set([...was!.keys(), ...is!.keys()])].sort()
  return keys
    .filter((key) => JSON.stringify(was!.get(key)) !== JSON.stringify(is!.get(key)))
    .map((key) => `${table}.${key}`)
}

/** Only what this change request needs anew: what the project lacks already is no effect of its merge. */
async function missingSecrets(
  deps: Pick<Deps, 'db'>,
  project: ProjectRow,
  { before, after }: { before: Manifest; after: Manifest },
): Promise<string[]> {
  const set = new Set((await listSecrets(deps.db, project.project_id)).map(({ name }) => name))
  const key = ({ by, name }: SecretUse) => `${by.kind} ${by.slug} ${name}`
  const used = new Set(secretUses(before).map(key))
  const missing = secretUses(after).filter((use) => !set.has(use.name) && !used.has(key(use)))
  return [...new Set(missing.map(({ name }) => name))].sort()
}
