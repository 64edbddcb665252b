/** Backs up one repository: what its refs are, and the objects that the place of backups lacks. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CopyManifest,
  GitError,
  incompleteCommits,
  lostObjects,
  missingObjects,
  packForReplica,
  packUnpacked,
  readCopyManifest,
  type Repository,
} from '@svc/git'
import type { Config } from '../config.ts'
import '../failpoint.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { emptyState, type PackedState, readState, type WritablePlace, writeState } from './catalog.ts'
import { type CopiedPacks, copyPacks, countObjects, type StorePack } from './copy-packs.ts'
import type { Manifest, StoredFile } from './manifest.ts'
import type { Chunks } from './place/place.ts'
import type { SnapshotProject } from './snapshot-store.ts'
import { writeStored } from './stored-files.ts'

type Kind = Manifest['repositories'][number]['kind']

export interface FoundRepository {
  project: SnapshotProject
  kind: Kind
  dir: string
  copy: CopyManifest
}

/** From here on a new pack has everything, so that the packs before it can go with the last backup that needs them. */
const packsMax = 60
const growthMax = 2

/** A mirror has refs of its host, too, which need no backup. */
export const isOurs = (kind: Kind, ref: string): boolean => kind === 'repositories' || ref.startsWith('refs/svc/')

/** The other server that keeps the repository of a project. Null: this one. */
export function homeElsewhere(dataDir: string, { home }: Pick<SnapshotProject, 'home'>): string | null {
  return home === (keptServerName(dataDir) ?? home) ? null : home
}

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
  const home = homeElsewhere(dataDir, project)
  // A copy that another server has replaced, or that was never complete, can still be on this disk.
  const copies = project.copy_at !== null && project.copy_at === keptServerName(dataDir) ? ['replicas'] : []
  // The copy of a project whose home is another server, which may have left an older repository here when it moved away.
  const folders = home === null ? [kind, ...copies] : [...copies, kind]
  const dir = folders.map((folder) => join(dataDir, folder, name)).find((each) => existsSync(each))
  const copy = dir === undefined ? null : await readCopyManifest(dir)
  const ours = project.acknowledged.flatMap(({ ref, sha }) => (sha !== null && isOurs(kind, ref) ? [sha] : []))
  const what = project.managed ? 'repository' : 'unfinished work'
  if (dir === undefined || copy === null) {
    // The host has everything else of an external repository.
    if (project.managed || (home !== null && ours.length > 0))
      throw new Error(`This machine does not have its ${what}.${home === null ? '' : ` Its home is ${home}.`}`)
    return null
  }
  // This machine can have an older state of another server's project than the acknowledged one.
  if (home !== null && (await missingObjects({ dir, remote: null }, ours)).length > 0)
    throw new Error(`This machine has an older state of its ${what}. Its home is ${home}.`)
  const refs = await acknowledgedRefs(dir, copy, project)
  return { project, kind, dir, copy: { ...copy, refs: refs.filter(({ ref }) => isOurs(kind, ref)) } }
}

export async function acknowledgedRefs(
  dir: string,
  { refs }: CopyManifest,
  { acknowledged }: Pick<SnapshotProject, 'acknowledged'>,
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

/** Stores what the earlier packs of the place lack, or everything if there are none. */
export async function packRepository(
  to: Pick<WritablePlace, 'place' | 'packed' | 'used'>,
  found: FoundRepository,
  recipient: string | null,
): Promise<PackedRepository> {
  const { project, dir, copy, kind } = found
  const repo: Repository = { dir, remote: null, group: 'backup' }
  const tips = tipsOf(copy)
  const before = await readState(to, project.project_id)
  const state = startingFrom(before)
  const roots = kind === 'mirrors' ? [] : await present(repo, [...new Set(project.roots).difference(new Set(tips))])
  const known = new Set(state.tips)
  if ([...tips, ...roots].every((sha) => known.has(sha)))
    return { copy: { ...copy, roots }, packs: state.packs, addedBytes: 0 }
  const store: StorePack = async (pack) => {
    const name = `packs/${project.project_id}/${randomUUID()}.pack${recipient === null ? '' : '.age'}`
    const counted = countObjects(pack)
    const written = await writeStored(to.place, name, counted.chunks, { recipient, isCompressed: false })
    if (counted.objects() > 0) return written
    await to.place.remove([name])
    return null
  }
  const whole = state.packs.length === 0 && kind === 'repositories' ? await copyPacks(dir, store) : null
  const { left, added } = await whileItChanges(found, { refs: copy.refs, roots }, (wants) =>
    writeMissing(repo, { wants, whole, state }, store),
  )
  await failpoint('backup.after_pack')
  const packs = [...state.packs, ...added]
  const full = state.packs.length === 0 ? packs.length : state.full
  await writeState(to, project.project_id, { packs, full, tips: [...tipsOf(left), ...left.roots], before })
  await failpoint('backup.after_state')
  return { copy: { ...copy, ...left }, packs, addedBytes: added.reduce((sum, { bytes }) => sum + bytes, 0) }
}

const tipsOf = ({ refs }: Pick<CopyManifest, 'refs'>) => [...new Set(refs.map(({ sha }) => sha))]

type Wanted = Pick<CopyManifest, 'refs' | 'roots'>

const triesMax = 5

/** Between the list of refs and the copy, a branch may be deleted and its commits be reclaimed. Then git fails. */
async function whileItChanges(
  found: FoundRepository,
  listed: Wanted,
  write: (wants: string[]) => Promise<StoredFile[]>,
): Promise<{ left: Wanted; added: StoredFile[] }> {
  let left = listed
  for (let tries = 1; ; tries++) {
    try {
      return { left, added: await write([...tipsOf(left), ...left.roots]) }
    } catch (error) {
      const next = error instanceof GitError && tries < triesMax ? await stillWhole(found, left) : null
      if (next === null) throw error
      left = next
    }
  }
}

/**
 * A ref whose commit is gone has its present value, if it was deleted or moved. Rows may refer to commits whose history
 * this store does not have as a whole. Null: git failed for another reason, such as a ref that names a lost commit.
 */
async function stillWhole({ dir }: FoundRepository, { refs, roots }: Wanted): Promise<Wanted | null> {
  const copy = await readCopyManifest(dir)
  if (copy === null) return null
  const now = new Map(copy.refs.map((one) => [one.ref, one]))
  const moved = refs.filter(({ ref, sha }) => now.get(ref)?.sha !== sha)
  const gone = new Set(await incompleteCommits(dir, [...moved.map(({ sha }) => sha), ...roots]))
  if (gone.size === 0) return null
  return {
    refs: refs.flatMap((one) => (gone.has(one.sha) ? (now.get(one.ref) ?? []) : one)),
    roots: roots.filter((sha) => !gone.has(sha)),
  }
}

/** `whole`: the packs of the repository, which are in the place as they are. */
async function writeMissing(
  repo: Repository,
  { wants, whole, state }: { wants: string[]; whole: CopiedPacks | null; state: PackedState },
  store: StorePack,
): Promise<StoredFile[]> {
  if (whole !== null) return whole.complete(await packUnpacked(repo, wants))
  const has = await present(repo, state.tips)
  const pack = await store((await packForReplica(repo, { wants, has })) as unknown as Chunks)
  return pack === null ? [] : [pack]
}

/** The server may have removed some since the last look. */
async function present(repo: Repository, shas: string[]): Promise<string[]> {
  const gone = new Set(shas.length === 0 ? [] : await lostObjects(repo, shas))
  return shas.filter((sha) => !gone.has(sha))
}

function startingFrom(state: PackedState): PackedState {
  const bytesOf = (packs: PackedState['packs']) => packs.reduce((sum, { bytes }) => sum + bytes, 0)
  const added = state.packs.slice(state.full)
  const isFull =
    added.length >= packsMax ||
    bytesOf(added) > Math.max(bytesOf(state.packs.slice(0, state.full)) * growthMax, 64 * 1024 ** 2)
  return isFull ? emptyState : state
}
