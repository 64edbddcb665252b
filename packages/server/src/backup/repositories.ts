/** Backs up one repository: what its refs are, and the objects that the folder lacks. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CopyManifest,
  incompleteCommits,
  missingObjects,
  packForReplica,
  readCopyManifest,
  type Repository,
} from '@svc/git'
import type { Config } from '../config.ts'
import '../failpoint.ts'
import { writeStored } from './files.ts'
import { type PackedState, readState, writeState } from './folder.ts'
import type { Manifest } from './manifest.ts'
import type { SnapshotProject } from './snapshot-store.ts'

type Kind = Manifest['repositories'][number]['kind']

export interface FoundRepository {
  project: SnapshotProject
  kind: Kind
  dir: string
  copy: CopyManifest
}

/** A pack without objects: a header and a checksum. */
const emptyPackBytesMax = 44
/** From here on a new pack has everything, so that the packs before it can go with the last backup that needs them. */
const packsMax = 60
const growthMax = 2

/**
 * The refs of a repository right now. Of a mirror only those that no host has. Where the database acknowledged another
 * value of a ref, that one counts. Null: a mirror that was never fetched.
 */
export async function findRepository(
  { dataDir }: Pick<Config, 'dataDir'>,
  project: SnapshotProject,
): Promise<FoundRepository | null> {
  const kind: Kind = project.managed ? 'repositories' : 'mirrors'
  const name = `${project.project_id}.git`
  // The copy of a project whose home is another server.
  const dir = [kind, 'replicas'].map((folder) => join(dataDir, folder, name)).find((each) => existsSync(each))
  const copy = dir === undefined ? null : await readCopyManifest(dir)
  if (dir === undefined || copy === null) {
    if (project.managed) throw new Error('This machine does not have its repository.')
    return null
  }
  const isOurs = (ref: string) => project.managed || ref.startsWith('refs/svc/')
  const refs = await acknowledgedRefs(dir, copy, project)
  return { project, kind, dir, copy: { ...copy, refs: refs.filter(({ ref }) => isOurs(ref)) } }
}

async function acknowledgedRefs(
  dir: string,
  { refs }: CopyManifest,
  { acknowledged }: SnapshotProject,
): Promise<CopyManifest['refs']> {
  const listed = new Map(refs.map((one) => [one.ref, one]))
  const others = acknowledged.filter(({ ref, sha }) => {
    const found = listed.get(ref)
    return found?.target == null && (found?.sha ?? null) !== sha
  })
  const wanted = others.flatMap(({ sha }) => sha ?? [])
  const gone = new Set(wanted.length === 0 ? [] : await missingObjects({ dir, remote: null }, wanted))
  for (const { ref, sha } of others) {
    if (sha === null) listed.delete(ref)
    else if (!gone.has(sha)) listed.set(ref, { ref, sha, target: null })
  }
  return [...listed.values()]
}

export interface PackedRepository {
  copy: CopyManifest
  packs: PackedState['packs']
  addedBytes: number
}

/** One pack with what the earlier ones lack. */
export async function packRepository(
  root: string,
  { project, dir, copy, kind }: FoundRepository,
  recipient: string | null,
): Promise<PackedRepository> {
  const repo: Repository = { dir, remote: null, group: 'backup' }
  const tips = [...new Set(copy.refs.map(({ sha }) => sha))]
  const roots =
    kind === 'mirrors'
      ? []
      : await wholeRoots(
          repo,
          project.roots.filter((sha) => !tips.includes(sha)),
        )
  const wants = [...tips, ...roots]
  const state = startingFrom(await readState(root, project.project_id))
  const known = new Set(state.tips)
  const done = (packs: PackedState['packs'], addedBytes: number) => ({ copy: { ...copy, roots }, packs, addedBytes })
  if (wants.every((sha) => known.has(sha))) return done(state.packs, 0)
  const gone = new Set(state.tips.length === 0 ? [] : await missingObjects(repo, state.tips))
  const has = state.tips.filter((sha) => !gone.has(sha))
  const name = `packs/${project.project_id}/${randomUUID()}.pack${recipient === null ? '' : '.age'}`
  const pack = (await packForReplica(repo, { wants, has })) as unknown as AsyncIterable<Uint8Array>
  const { sourceBytes, ...written } = await writeStored(root, name, pack, { recipient, isCompressed: false })
  await failpoint('backup.after_pack')
  const isEmpty = sourceBytes <= emptyPackBytesMax
  if (isEmpty) await rm(join(root, name))
  const packs = isEmpty ? state.packs : [...state.packs, written]
  await writeState(root, project.project_id, { packs, tips: wants })
  await failpoint('backup.after_state')
  return done(packs, isEmpty ? 0 : written.bytes)
}

function startingFrom(state: PackedState): PackedState {
  const [first, ...rest] = state.packs.map(({ bytes }) => bytes)
  const added = rest.reduce((sum, bytes) => sum + bytes, 0)
  const isFull = state.packs.length >= packsMax || added > Math.max((first ?? 0) * growthMax, 64 * 1024 ** 2)
  return isFull ? { packs: [], tips: [] } : state
}

/** Rows may refer to commits of a host that this store never had as a whole. */
async function wholeRoots(repo: Repository, roots: string[]): Promise<string[]> {
  if (roots.length === 0) return []
  const gone = new Set(await missingObjects(repo, roots))
  const present = roots.filter((sha) => !gone.has(sha))
  const broken = new Set(await incompleteCommits(repo.dir, present))
  return present.filter((sha) => !broken.has(sha))
}
