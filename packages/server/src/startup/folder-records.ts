/**
 * Beside the master key, a file for each data folder with an embedded database: when its server last ran, and the newest
 * mark of the folder. So a start knows a folder whose disk is not mounted, and one whose copy went on since. In the folder,
 * nothing can tell either.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { quote } from '@svc/contract/shell-words'
import { writeFileWhole } from '../backup/place/write-file.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { beganAt, beginMark, hasMark, newestMark, renewMark } from '../fleet/start-marks.ts'
import { keyPlace } from '../keyring/key-place.ts'
import { holdsFolder, isFolderLocked, readFolderId } from './folder-lock.ts'
import { StartupError } from './startup-error.ts'

export type RecordedFolder = Pick<Config, 'databaseUrl' | 'dataDir' | 'masterKeyFile' | 'isMasterKeyKnown'>

const recordsName = 'data-folders'
const recordsMax = 100

interface FolderRecord {
  data_dir: string
  folder_id: string
  /** The same home folder may be on several machines. */
  host: string
  mark: string
  at: string
  /** False from a start to an orderly stop: the folder may have more than its mark says. A record of an earlier version has none. */
  stopped?: boolean
  /** The data folder in which a server has gone on with everything that this one had. */
  continued_in?: string | null
}

type Found = FolderRecord & { file: string }

interface NotNewest {
  says: string
  mend: string
  /** How to go on all the same. */
  anew: string
}

/** Null: a record in the data folder would go and come with it. */
function recordsOf(config: RecordedFolder): string | null {
  const beside = dirname(resolve(keyPlace(config).file))
  return `${beside}${sep}`.startsWith(`${config.dataDir}${sep}`) ? null : join(beside, recordsName)
}

export function readRecords(config: RecordedFolder): Found[] {
  const folder = recordsOf(config)
  return folder === null ? [] : allRecords(folder).filter(({ host }) => host === hostname())
}

function allRecords(folder: string): Found[] {
  if (!existsSync(folder)) return []
  return readable(folder, () => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
    return files.flatMap((name) => parse(join(folder, name)) ?? [])
  })
}

/** Without them, the start could be on an older copy. */
function readable<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    throw new StartupError(
      `${path} cannot be read by this user: it says which data folders servers ran in. Make this user its owner, with everything in it: chown -R <user> ${quote(path)}. Nothing was changed.`,
    )
  }
}

function parse(file: string): Found | null {
  const text = readFileSync(file, 'utf8')
  try {
    return { ...(JSON.parse(text) as FolderRecord), file }
  } catch {
    return isDamaged()
  }
}

/** As without a record, the start goes on. */
function isDamaged(): null {
  return null
}

function recordFile(folder: string, dataDir: string): string {
  const hash = createHash('sha256').update(`${hostname()} ${dataDir}`).digest('hex').slice(0, 12)
  return join(folder, `${hash}.json`)
}

/** After the folder has its mark: a crash in between leaves an earlier one, which the folder has as well. */
export async function recordFolder(
  config: RecordedFolder,
  { log, isStopping = false }: { log: Deps['log']; isStopping?: boolean },
): Promise<void> {
  try {
    await writeRecords(config, isStopping)
  } catch (error) {
    // As in a container, where the folder of the key is read-only.
    log.info({ err: error }, 'the data folder is not recorded beside the master key, so its loss would not be noticed')
  }
}

async function writeRecords(config: RecordedFolder, isStopped: boolean): Promise<void> {
  const { databaseUrl, dataDir } = config
  const [folder, mark, folderId] = [recordsOf(config), newestMark(config), readFolderId(dataDir)]
  if (folder === null || mark === null || folderId === null) return
  // With a PostgreSQL of the operator, only a copy of when the folder had a database of its own could start unnoticed.
  if (databaseUrl !== null && !readRecords(config).some(({ folder_id }) => folder_id === folderId)) return
  await writeRecord(recordFile(folder, dataDir), {
    ...{ data_dir: dataDir, folder_id: folderId, host: hostname(), mark, at: new Date().toISOString() },
    ...{ stopped: isStopped, continued_in: null },
  })
  for (const { file, ...record } of othersOf(config, folderId))
    if (hasMark(config, record.mark)) await writeRecord(file, { ...record, continued_in: dataDir })
  const oldest = allRecords(folder).toSorted((a, b) => a.at.localeCompare(b.at))
  for (const { file } of oldest.slice(0, -recordsMax)) await rm(file, { force: true })
}

function writeRecord(file: string, record: FolderRecord): Promise<void> {
  return writeFileWhole(file, `${JSON.stringify(record)}\n`)
}

/** Before the data of a stopped server arrive in a PostgreSQL of the operator, or come back: a copy of before is older from now on. */
export async function recordMove(config: RecordedFolder): Promise<void> {
  // No server has run in it.
  if (newestMark(config) === null) return
  await beginMark(config, { mark: randomUUID(), at: new Date().toISOString(), before: null })
  await writeRecords({ ...config, databaseUrl: null }, true).catch(isLoggedByStart)
}

/** A record that cannot be written does not hold a move up. */
function isLoggedByStart(): void {}

/** The folder and its record have the mark from now on, so a copy of before is an older one. */
export async function renewFolder(
  deps: Pick<Deps, 'config' | 'db' | 'serverName' | 'instanceId' | 'log'>,
  { isStopping = false } = {},
): Promise<void> {
  // The server ends soon: a mark in another folder would make its own one an older copy.
  if (!holdsFolder(deps.config.dataDir)) return
  await renewMark(deps)
  // What is at its path by now may be another folder, whose record this one must not write.
  if (!holdsFolder(deps.config.dataDir)) return
  await recordFolder(deps.config, { log: deps.log, isStopping })
}

/** Once nothing changes the folder any more: a copy has everything from now on. */
export async function recordStop(deps: Parameters<typeof renewFolder>[0]): Promise<void> {
  await renewFolder(deps, { isStopping: true }).catch((error: unknown) =>
    deps.log.warn({ err: error }, 'the mark of the data folder was not renewed'),
  )
}

const ownOf = (records: Found[], { dataDir }: RecordedFolder) => records.find(({ data_dir }) => data_dir === dataDir)

/** Records of the same data at other paths, but for those with which a server went on elsewhere. */
function othersOf(config: RecordedFolder, folderId: string): Found[] {
  return readRecords(config).filter(
    (each) => each.data_dir !== config.dataDir && each.folder_id === folderId && each.continued_in == null,
  )
}

/** Where the server of a folder last ran, as far as the records know. */
function newestPlace(records: Found[], from: Found): string {
  const seen = new Set<string>()
  let at = from
  while (at.continued_in != null && !seen.has(at.data_dir)) {
    seen.add(at.data_dir)
    const next = records.find(({ data_dir }) => data_dir === at.continued_in)
    if (next === undefined) return at.continued_in
    at = next
  }
  return at.data_dir
}

const useFolder = (dataDir: string) =>
  `Set SVC_DATA_DIR to that folder: svc self-host env set SVC_DATA_DIR=${quote(dataDir)}`

/** Why a folder without data may not be that of a first start. Null: it may. */
export function whyNotFirst(config: RecordedFolder): NotNewest | null {
  const records = readRecords(config)
  const own = ownOf(records, config)
  if (own === undefined) return null
  return {
    says: `The data folder ${config.dataDir} is empty, and a server ran in it (last at ${own.at}).`,
    mend: whereItsDataAre(records, own),
    anew: `To begin anew in it, remove the file ${own.file}.`,
  }
}

function whereItsDataAre(records: Found[], own: Found): string {
  const newest = newestPlace(records, own)
  return newest === own.data_dir
    ? 'Mount its disk, or put the folder back where it was moved, and start again. If it is lost, restore a backup into this folder (svc self-host restore).'
    : `Its server last ran in ${newest}. ${useFolder(newest)}.`
}

/** For a folder whose data are not the newest ones of a server that ran here, or of its path. */
export function refuseOlderCopy(config: RecordedFolder): void {
  const older = whyOlder(config)
  if (older !== null) throw new StartupError(`${older.says} ${older.mend} ${older.anew} Nothing was changed.`)
}

/** Null: no record tells so. */
export function whyOlder(config: RecordedFolder): NotNewest | null {
  if (config.databaseUrl !== null || !existsSync(config.dataDir)) return null
  const { dataDir } = config
  const folderId = readFolderId(dataDir)
  if (folderId === null) return null
  const newer = othersOf(config, folderId)
    .filter(({ mark }) => !hasMark(config, mark))
    .toSorted((a, b) => b.at.localeCompare(a.at))[0]
  if (newer === undefined) return whyStranger(config, folderId)
  return {
    says: `The data folder ${dataDir} is not the newest: a server ran in ${newer.data_dir} since (last at ${newer.at}), which is a copy of it or the original, so this one lacks what was pushed and merged there.`,
    mend: `${useFolder(newer.data_dir)}, or where the other settings of this server are.`,
    anew: goOn(newer),
  }
}

const goOn = ({ file }: Found) =>
  `To go on with the older one all the same, without what it lacks, remove the file ${file}.`

/** Below a disk that is not mounted there may be a folder of before, and a disk that was given up may come back. */
function whyStranger(config: RecordedFolder, folderId: string): NotNewest | null {
  const records = readRecords(config)
  const own = ownOf(records, config)
  // An id that was lost with its file is made anew.
  if (own === undefined || own.folder_id === folderId || isSince(config, own)) return null
  return {
    says: `The data folder ${config.dataDir} is another one than that in which a server last ran at this path (at ${own.at}).`,
    mend: whereItsDataAre(records, own),
    anew: `To go on with the folder that is there now, remove the file ${own.file}.`,
  }
}

/**
 * Whether the folder has what the record knows, or began after it, as one that was restored: with the key in another place,
 * or under another host name, its first start leaves a record of before. Only a restore makes a folder without marks.
 */
function isSince(config: RecordedFolder, { mark, at }: FolderRecord): boolean {
  const began = beganAt(config)
  return began === null || began > at || hasMark(config, mark)
}

/** For what serves a folder, or moves its data. */
export function refuseToServe(config: RecordedFolder): void {
  refuseCopyOfRunning(config)
  refuseOlderCopy(config)
}

/**
 * A copy that was made while a server ran in the original lacks what that server has acknowledged since, and no mark shows it
 * before the next one.
 */
function refuseCopyOfRunning(config: RecordedFolder): void {
  if (config.databaseUrl !== null) return
  const { dataDir } = config
  const folderId = readFolderId(dataDir)
  if (folderId === null) return
  for (const original of othersOf(config, folderId)) {
    if (!isThere(original) || isSameFolder(original.data_dir, dataDir)) continue
    const both = `The data folder ${dataDir} and ${original.data_dir} are copies of the same data`
    if (isFolderLocked(original.data_dir))
      throw new StartupError(
        `${both}, and a running server uses the second. Two would act beside each other: stop that server first. To try a copy, restore a backup into an empty folder (svc self-host restore): it acts only after svc self-host resume. Nothing was changed.`,
      )
    if (original.stopped !== false) continue
    throw new StartupError(
      `${both}, and the server in the second did not stop in an orderly way, so the first may lack what was pushed and merged there (until ${original.at} or later). ${useFolder(original.data_dir)}. Or start a server there, stop it, and copy it again. ${goOn(original)} Nothing was changed.`,
    )
  }
}

/** Null: the folder has what its server last recorded. An earlier state of it starts, since a snapshot is put back on purpose. */
export function earlierStateText(config: RecordedFolder): string | null {
  if (config.databaseUrl !== null) return null
  const { dataDir } = config
  const own = ownOf(readRecords(config), config)
  if (own === undefined || isSince(config, own)) return null
  return `The data folder ${dataDir} is of an earlier time than when a server last ran in it (at ${own.at}), as after a snapshot of it was put back. Run svc self-host check: it shows what disagrees.`
}

/** False also for a folder that this user may not read. */
export function isThere({ data_dir, folder_id }: FolderRecord): boolean {
  try {
    return readFolderId(data_dir) === folder_id
  } catch {
    return isOfOtherUser()
  }
}

function isOfOtherUser(): false {
  return false
}

/** A path may lead over a link or a mount. */
function isSameFolder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { bigint: true }))
  return a!.dev === b!.dev && a!.ino === b!.ino
}
