/** A place has one manifest per backup, and packs that the backups share. One command at a time writes to it. */
import type { DamagedBackup } from '@svc/contract/daemon/operator-reports'
import { parseJson } from '@svc/contract/json'
import { quote } from '@svc/contract/shell-words'
import pLimit from 'p-limit'
import { z } from 'zod'
import { StartupError } from '../startup/startup-error.ts'
import { backupFormat, backupIdPattern, type Manifest, manifestText, parseManifest } from './manifest.ts'
import { type ListedFile, type Place, PlaceError, type PlaceLock, readText, writeText } from './place/place.ts'

const storedFile = z.object({ name: z.string(), bytes: z.number(), sha256: z.string() })

const packed = {
  packs: z.array(storedFile),
  /** How many of the packs, from the first on, have everything that the repository had then. */
  full: z.number().default(1),
  tips: z.array(z.string()),
}
/** The packs of a repository in the place. It is written after each pack, so that an interrupted backup is continued. */
const packedState = z.object({
  ...packed,
  /** A complete backup has this state. It counts once the packs of an interrupted one are gone. */
  earlier: z.object(packed).nullable().default(null),
})
export type PackedState = z.infer<typeof packedState>

/** The data folder that backs up to a place. Its id is not in a copy or in a restored server. */
const writer = z.object({
  folder_id: z.string(),
  server: z.string().nullable(),
  host: z.string(),
  data_dir: z.string(),
})
export type Writer = z.infer<typeof writer>

const header = z.object({
  format: z.number(),
  installation_id: z.string(),
  recipient: z.string().nullable(),
  /** Null: any data folder of the installation begins or continues it. */
  writer: writer.nullable().default(null),
})
type Header = z.infer<typeof header>

const headerName = 'svc-backups.json'
const manifestsAtOnce = 8

const manifestName = (backupId: string) => `backups/${backupId}.json`
const stateName = (projectId: string) => `packs/${projectId}/state.json`

export interface WritablePlace {
  place: Place
  lock: PlaceLock
  /** The size of each file of packs as the lock was taken. */
  packed: ReadonlyMap<string, number>
  /** The packs and states of complete backups. Null: no interrupted backup added others. */
  used: ReadonlySet<string> | null
}

interface Wanted extends Omit<Header, 'format'> {
  /** The newest backup that this data folder knows there. Null: none. */
  known: string | null
  keyFile: string | null
  /** Goes on also where the earlier backups are gone, or are of another data folder of this installation. */
  isClaimed: boolean
}

interface Opening {
  onWait: (reason: string) => void
  /** Comes before the first file of a place that has none. */
  onNew: () => Promise<void>
}

/** Requires that the backups of the place, if it has any, are of this data folder and encrypted alike. */
export async function openForWriting(place: Place, wanted: Wanted, { onWait, onNew }: Opening): Promise<WritablePlace> {
  await requireOurs(place, wanted)
  const lock = await lockPlace(place, onWait)
  try {
    // Another command may have begun the place meanwhile.
    const found = await requireOurs(place, wanted)
    if (found === null) await onNew()
    if (found === null || (wanted.writer !== null && found.writer?.folder_id !== wanted.writer.folder_id))
      await writeHeader(place, wanted)
    const used = place.isOneFile ? null : await removeInterrupted(place)
    const packed = new Map((await place.list('packs/')).map(({ name, bytes }) => [name, bytes]))
    return { place, lock, packed, used }
  } catch (error) {
    await lock.release()
    throw error
  }
}

export async function lockPlace(place: Place, onWait: Opening['onWait']): Promise<PlaceLock> {
  const lock = await place.lock(onWait)
  if (lock !== null) return lock
  throw new PlaceError(`Another backup to ${place.address} is running. Run this one again when it has ended.`)
}

async function writeHeader(
  place: Place,
  { installation_id, recipient, writer }: Omit<Header, 'format'>,
): Promise<void> {
  const text = JSON.stringify({ format: backupFormat, installation_id, recipient, writer })
  await writeText(place, headerName, `${text}\n`)
}

async function requireOurs(place: Place, wanted: Wanted): Promise<Header | null> {
  const { address } = place
  const { installation_id, recipient } = wanted
  const found = await readHeader(place)
  if (found === null && !(await place.isEmpty()))
    throw new StartupError(
      `${address} is not empty and has no backups of svc. Choose another place. Nothing was changed.`,
    )
  if (found !== null && found.installation_id !== installation_id)
    throw new StartupError(
      `${address} has the backups of another installation. Choose another place. Nothing was changed.`,
    )
  if (found !== null && found.recipient !== recipient)
    throw new StartupError(
      found.recipient === null
        ? `The backups in ${address} are not encrypted. Choose another place for encrypted ones. Nothing was changed.`
        : `The backups in ${address} are encrypted for ${found.recipient}. Give its key file with --encrypt, or choose another place. Nothing was changed.`,
    )
  if (!wanted.isClaimed) await requireContinued(place, found, wanted)
  return found
}

/** A first backup goes to a place without a past, and a later one follows those of this data folder. */
async function requireContinued(
  place: Place,
  found: Header | null,
  { known, keyFile, writer: ours }: Wanted,
): Promise<void> {
  const { address } = place
  const claim = `svc self-host backup ${quote(address)}${keyFile === null ? '' : ` --encrypt ${quote(keyFile)}`} --claim`
  if (found === null && known !== null && (await place.isEmpty()))
    throw new StartupError(
      `${address} has no backups any more; the last one that this server knows there is ${known}. Its disk may not be mounted, or someone removed them. Bring them back, and the next backup goes on. If they are lost, begin anew there with a full backup: ${claim}. Nothing was changed.`,
    )
  const theirs = found?.writer ?? null
  if (theirs === null || ours === null || theirs.folder_id === ours.folder_id) return
  const name = theirs.server === null ? '' : `the server ${theirs.server}, `
  throw new StartupError(
    `${address} has the backups of ${name}the data folder ${theirs.data_dir} on ${theirs.host}, which is of the same installation: another of its servers, or the original of a restored one. Choose another place. If that one makes no backups any more, go on with its backups: ${claim}. Nothing was changed.`,
  )
}

export async function readHeader(place: Place): Promise<Header | null> {
  const text = await readText(place, headerName)
  if (text === null) return null
  const parsed = header.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new StartupError(`${place.address}/${headerName} is damaged. Nothing was changed.`)
}

/** Explains that a place has no backup. */
export async function noBackupIn(place: Place): Promise<string> {
  const { address } = place
  if (!place.isOneFile) return `There is no backup in ${address}.`
  if (await place.isEmpty()) return `There is no file ${address}.`
  return `${address} has no backup of svc: it is another archive, or a part of it is missing. Copy it again from where it was made, or use another backup.`
}

/** The ids of complete backups, earliest first. */
export async function listBackups(place: Place): Promise<string[]> {
  const files = await place.list('backups/')
  const ids = files.flatMap(({ name }) => /^backups\/([^/]+)\.json$/.exec(name)?.[1] ?? [])
  return ids.filter((id) => backupIdPattern.test(id)).toSorted()
}

export async function readBackup(place: Place, backupId: string): Promise<Manifest> {
  const name = manifestName(backupId)
  const text = await readText(place, name)
  if (text === null) throw new StartupError(`${place.address} lacks ${name}: it was removed meanwhile.`)
  return parseManifest(text, `${place.address}/${name}`)
}

export async function readBackups(
  place: Place,
  ids: readonly string[],
): Promise<{ manifests: Manifest[]; damaged: DamagedBackup[] }> {
  const damaged: DamagedBackup[] = []
  const read = await pLimit(manifestsAtOnce).map(ids, async (id) => {
    try {
      return await readBackup(place, id)
    } catch (error) {
      if (!isDamage(error)) throw error
      damaged.push({ backup_id: id, says: error.message })
      return null
    }
  })
  return { manifests: read.filter((each) => each !== null), damaged }
}

/** As opposed to a place that cannot be read, which says nothing about a backup. */
export function isDamage(error: unknown): error is StartupError {
  return error instanceof StartupError && !(error instanceof PlaceError)
}

export async function writeManifest(place: Place, manifest: Manifest): Promise<void> {
  await writeText(place, manifestName(manifest.backup_id), manifestText(manifest))
}

export async function removeManifests(place: Place, ids: readonly string[]): Promise<void> {
  await place.remove(ids.map((id) => manifestName(id)))
}

export const emptyState: PackedState = { packs: [], full: 0, tips: [], earlier: null }

/** A pack that is gone or was cut off makes everything that builds on it useless. What was there before it stays of use. */
export async function readState(
  { place, packed }: Pick<WritablePlace, 'place' | 'packed'>,
  projectId: string,
): Promise<PackedState> {
  const name = stateName(projectId)
  const text = packed.has(name) ? await readText(place, name) : null
  const parsed = packedState.safeParse(text === null ? null : parseJson(text))
  const isWhole = (state: Pick<PackedState, 'packs'>) =>
    state.packs.every(({ name, bytes }) => packed.get(name) === bytes)
  if (!parsed.success) return emptyState
  const { earlier } = parsed.data
  if (isWhole(parsed.data)) return parsed.data
  return earlier !== null && isWhole(earlier) ? { ...earlier, earlier: null } : emptyState
}

/** `before`: the state that this one follows. */
export async function writeState(
  { place, used }: Pick<WritablePlace, 'place' | 'used'>,
  projectId: string,
  { before: { earlier: earliest, ...before }, ...state }: Omit<PackedState, 'earlier'> & { before: PackedState },
): Promise<void> {
  const isOfBackup = used === null || before.packs.every(({ name }) => used.has(name))
  const earlier = isOfBackup ? (before.packs.length === 0 ? null : before) : earliest
  await writeText(place, stateName(projectId), `${JSON.stringify({ ...state, earlier })}\n`)
}

/**
 * Removes what interrupted backups left that no later one uses, so that a place which they filled takes backups again.
 * Repositories that they finished stay. Returns what complete backups use; null if nothing was interrupted.
 */
async function removeInterrupted(place: Place): Promise<ReadonlySet<string> | null> {
  await place.removeUnfinished()
  const ids = await listBackups(place)
  const left = await unusedData(place, ids)
  // A backup begins with its data.
  if (left.length === 0) return null
  const { used, damaged } = await usedPacks(place, ids)
  if (damaged.length === 0) await place.remove(await unusedPacks(place, used, () => true))
  await place.remove(left)
  return damaged.length === 0 ? used : null
}

/**
 * Removes all that no complete backup needs, also repositories that an interrupted one finished, and writes nothing: the
 * place may be full. Returns how many bytes went.
 */
export async function removeUnneeded(place: Place): Promise<{ bytes: number; damaged: DamagedBackup[] }> {
  const { files, damaged } = await unneeded(place)
  await place.remove(files.map(({ name }) => name))
  await place.removeUnfinished()
  return { bytes: bytesOf(files), damaged }
}

/** Counts the bytes that an interrupted backup left, or one that runs now has written. */
export async function unneededBytes(place: Place): Promise<number> {
  return bytesOf((await unneeded(place)).files)
}

const bytesOf = (files: readonly ListedFile[]) => files.reduce((sum, { bytes }) => sum + bytes, 0)

async function unneeded(place: Place): Promise<{ files: ListedFile[]; damaged: DamagedBackup[] }> {
  const ids = await listBackups(place)
  const { used, damaged } = await usedPacks(place, ids)
  const data = await unusedFiles(place, ids)
  // A damaged one may use any of them.
  const packs = damaged.length > 0 ? [] : await place.list('packs/')
  return { files: [...data, ...packs.filter(({ name }) => !used.has(name))], damaged }
}

/** Removes what no kept backup uses: of deleted backups, and of those that were interrupted. Returns what is damaged. */
export async function removeUnused(place: Place): Promise<DamagedBackup[]> {
  const ids = await listBackups(place)
  const { used, damaged } = await usedPacks(place, ids)
  await place.remove(await unusedData(place, ids))
  // A damaged one may use any of them, and may be whole in another copy.
  if (damaged.length === 0) await place.remove(await unusedPacks(place, used, (state) => used.has(state)))
  await place.removeUnfinished()
  return damaged
}

async function usedPacks(place: Place, ids: readonly string[]) {
  const used = new Set<string>()
  const { manifests, damaged } = await readBackups(place, ids)
  for (const { repositories } of manifests)
    for (const { project_id, packs } of repositories)
      for (const name of [stateName(project_id), ...packs.map((pack) => pack.name)]) used.add(name)
  return { used, damaged }
}

async function unusedData(place: Place, ids: readonly string[]): Promise<string[]> {
  return (await unusedFiles(place, ids)).map(({ name }) => name)
}

async function unusedFiles(place: Place, ids: readonly string[]): Promise<ListedFile[]> {
  const data = await place.list('data/')
  return data.filter(({ name }) => !ids.includes(name.split('/')[1] ?? ''))
}

/** The next backup of a repository builds on the packs of its state, also where no kept backup has them. */
async function unusedPacks(
  place: Place,
  used: ReadonlySet<string>,
  isKeptState: (name: string) => boolean,
): Promise<string[]> {
  const files = await place.list('packs/')
  const packed = new Map(files.map(({ name, bytes }) => [name, bytes]))
  const candidates = Map.groupBy(
    files.map(({ name }) => name).filter((name) => !used.has(name)),
    (name) => name.split('/')[1] ?? '',
  )
  const unused: string[] = []
  for (const [projectId, names] of candidates) {
    const stateOf = stateName(projectId)
    const isKept = isKeptState(stateOf)
    const state = isKept ? await readState({ place, packed }, projectId) : emptyState
    const current = new Set(state.packs.map(({ name }) => name))
    if (isKept && state.packs.length > 0) current.add(stateOf)
    unused.push(...names.filter((name) => !current.has(name)))
  }
  return unused
}
