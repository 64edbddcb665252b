/**
 * Beside the master key, a file for each data folder with an embedded database: when its server last ran, and the newest
 * mark of the folder. So a start knows a folder whose disk is not mounted, and one whose copy went on since. In the folder,
 * nothing can tell either.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { quote } from '@svc/contract/shell-words'
import { writeFileWhole } from '../backup/place/write-file.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { hasMark, newestMark, renewMark } from '../fleet/start-marks.ts'
import { keyPlace } from '../keyring/key-place.ts'
import { holdsFolder, readFolderId } from './folder-lock.ts'
import { StartupError } from './startup-error.ts'

export type RecordedFolder = Pick<Config, 'databaseUrl' | 'dataDir' | 'masterKeyFile'>

const recordsName = 'data-folders'
const recordsMax = 100

interface FolderRecord {
  data_dir: string
  folder_id: string
  /** The same home folder may be on several machines. */
  host: string
  mark: string
  at: string
}

type Found = FolderRecord & { file: string }

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
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return files.flatMap((name) => parse(join(folder, name)) ?? [])
}

function parse(file: string): Found | null {
  try {
    return { ...(JSON.parse(readFileSync(file, 'utf8')) as FolderRecord), file }
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
export async function recordFolder(config: RecordedFolder, log: Deps['log']): Promise<void> {
  if (config.databaseUrl !== null) return
  const { dataDir } = config
  const [folder, mark, folderId] = [recordsOf(config), newestMark(config), readFolderId(dataDir)]
  if (folder === null || mark === null || folderId === null) return
  const record: FolderRecord = {
    ...{ data_dir: dataDir, folder_id: folderId, host: hostname() },
    ...{ mark, at: new Date().toISOString() },
  }
  try {
    await writeFileWhole(recordFile(folder, dataDir), `${JSON.stringify(record)}\n`)
    const oldest = allRecords(folder).toSorted((a, b) => a.at.localeCompare(b.at))
    for (const { file } of oldest.slice(0, -recordsMax)) await rm(file, { force: true })
  } catch (error) {
    // As in a container, where the folder of the key is read-only.
    log.info({ err: error }, 'the data folder is not recorded beside the master key, so its loss would not be noticed')
  }
}

/** The folder and its record have the mark from now on, so a copy of before is an older one. */
export async function renewFolder(
  deps: Pick<Deps, 'config' | 'db' | 'serverName' | 'instanceId' | 'log'>,
): Promise<void> {
  // The server ends soon: a mark in another folder would make its own one an older copy.
  if (!holdsFolder(deps.config.dataDir)) return
  await renewMark(deps)
  await recordFolder(deps.config, deps.log)
}

const isOf = (dataDir: string) => (record: FolderRecord) => record.data_dir === dataDir

/** Why a folder without data may not be that of a first start. Null: it may. */
export function whyNotFirst(config: RecordedFolder): { says: string; mend: string; anew: string } | null {
  const records = readRecords(config)
  const own = records.find(isOf(config.dataDir))
  if (own === undefined) return null
  const newer = records.find(({ folder_id, at }) => folder_id === own.folder_id && at > own.at)
  const mend =
    newer === undefined
      ? 'Mount its disk, or put the folder back where it was moved, and start again. If it is lost, restore a backup into this folder (svc self-host restore).'
      : `Its server last ran in ${newer.data_dir}. Set SVC_DATA_DIR to that folder: svc self-host env set SVC_DATA_DIR=${quote(newer.data_dir)}.`
  return {
    says: `The data folder ${config.dataDir} is empty, and a server ran in it (last at ${own.at}).`,
    mend,
    anew: `To begin anew in it, remove the file ${own.file}.`,
  }
}

/** Where a copy of the folder has served since, this one lacks what was pushed and merged there. */
export function refuseOlderCopy(config: RecordedFolder): void {
  if (config.databaseUrl !== null || !existsSync(config.dataDir)) return
  const { dataDir } = config
  const folderId = readFolderId(dataDir)
  if (folderId === null) return
  const records = readRecords(config)
  const own = records.find(isOf(dataDir))
  const newer = records
    .filter(({ data_dir, folder_id }) => folder_id === folderId && data_dir !== dataDir)
    .filter(({ mark, at }) => (own === undefined || own.at < at) && !hasMark(config, mark))
    .toSorted((a, b) => b.at.localeCompare(a.at))[0]
  if (newer === undefined) return
  throw new StartupError(
    `The data folder ${dataDir} is not the newest: a server ran in ${newer.data_dir} since (last at ${newer.at}), which is a copy of it or the original, so this one lacks what was pushed and merged there. Set SVC_DATA_DIR to that folder: svc self-host env set SVC_DATA_DIR=${quote(newer.data_dir)}, or where the other settings of this server are. To go on with the older one all the same, without what it lacks, remove the file ${newer.file}. Nothing was changed.`,
  )
}
