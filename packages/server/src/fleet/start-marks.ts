/**
 * Each start leaves a mark in the data folder and in the server's row, and so does each hour and a stop. A folder without
 * the mark of the row is an older copy, or another folder, and lacks what the server has acknowledged since. A row with
 * an earlier mark of the folder comes from a database that was restored alone.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { quote } from '@svc/contract/shell-words'
import { writeFileWhole } from '../backup/place/write-file.ts'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { holdsFolder } from '../startup/folder-lock.ts'
import { hasRewoundRefs } from '../projects/replicas/earlier-disk.ts'
import { StartupError } from '../startup/startup-error.ts'
import { databaseTime, hasRecordedSince, type RecordedServer, setStartMark } from './store.ts'

type Folder = Pick<Config, 'dataDir'>

const fileName = 'start-marks'
/** A database that was restored alone is rarely older than so many of them. */
const marksMax = 5_000

interface Mark {
  id: string
  /** By the clock of the database. Null: of an earlier version. */
  at: string | null
  /** Whether the transaction that recorded it in the database is known to be committed. */
  isRecorded: boolean
}

const begun = ' begun'

function readMarks({ dataDir }: Folder): Mark[] {
  const path = join(dataDir, fileName)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => {
    const [id = '', at] = line.replace(begun, '').split(' ')
    return { id, at: at ?? null, isRecorded: !line.endsWith(begun) }
  })
}

async function writeMarks({ dataDir }: Folder, marks: Mark[]): Promise<void> {
  const lines = marks
    .slice(-marksMax)
    .map(({ id, at, isRecorded }) => `${id}${at === null ? '' : ` ${at}`}${isRecorded ? '' : begun}\n`)
  await writeFileWhole(join(dataDir, fileName), lines.join(''))
}

/**
 * Before the transaction that records the mark commits, so that a crash in between leaves a folder with the mark of the
 * row, whether it is the new one or the one before.
 */
export async function beginMark(
  folder: Folder,
  { mark, at, before }: { mark: string; at: string; before: string | null },
): Promise<void> {
  const marks = readMarks(folder).map((each) => (each.id === before ? { ...each, isRecorded: true } : each))
  await writeMarks(folder, [...marks, { id: mark, at, isRecorded: false }])
}

export async function keepMark(folder: Folder, mark: string): Promise<void> {
  const marks = readMarks(folder)
  await writeMarks(
    folder,
    marks.map((each) => (each.id === mark ? { ...each, isRecorded: true } : each)),
  )
}

/** A copy that was made before does not count as the newest any more. */
export async function renewMark({
  config,
  db,
  serverName,
  instanceId,
}: Pick<Deps, 'config' | 'db' | 'serverName' | 'instanceId'>): Promise<void> {
  const mark = randomUUID()
  await db.transaction().execute(async (trx) => {
    const before = await setStartMark(trx, { server_name: serverName, instance_id: instanceId, mark })
    if (before === undefined) return
    await beginMark(config, { mark, at: await databaseTime(trx), before })
    // Where the folder has moved in between, the mark is in another one.
    if (!holdsFolder(config.dataDir)) throw new Error(`${config.dataDir} is not the folder of this server any more`)
  })
  await keepMark(config, mark)
}

/** Whether the folder has what a server with this mark has acknowledged. */
export function hasMark(folder: Folder, mark: string): boolean {
  return readMarks(folder).some(({ id }) => id === mark)
}

/** Null: no server has run in the folder. */
export function newestMark(folder: Folder): string | null {
  return readMarks(folder).at(-1)?.id ?? null
}

/** The time of the oldest mark that the folder still has. Null: no server has run in it. */
export function beganAt(folder: Folder): string | null {
  const [oldest] = readMarks(folder)
  return oldest === undefined ? null : (oldest.at ?? '')
}

/**
 * Whether a folder lacks nothing but changes of refs that are recorded. Its home then refuses to change the projects that
 * lack their commits (`projects/replicas/earlier-disk.ts`), and another server can take them over.
 */
export async function lacksRecordedAlone(
  db: DbOrTransaction,
  config: Config,
  { server_name }: RecordedServer,
): Promise<boolean> {
  const newest = readMarks(config).findLast(({ isRecorded }) => isRecorded)
  const since = newest?.at ?? null
  if (since === null || !(await hasRecordedSince(db, { serverName: server_name, at: since }))) return false
  return !(await hasRewoundRefs(db, { config, serverName: server_name, since }))
}

/** Null: the database is not older than the folder. */
export function olderDatabaseText(folder: Folder, mark: string | null): string | null {
  const marks = readMarks(folder)
  const at = marks.findIndex(({ id }) => id === mark)
  if (at === -1 || !marks.slice(at + 1).some(({ isRecorded }) => isRecorded)) return null
  return `The database is older than the data folder ${folder.dataDir}, as after a restore of the database alone. Run svc self-host check: it shows what disagrees.`
}

/** `server`: the one that has served the projects of this folder since. */
export function isOlderFolder({ dataDir }: Folder, server: RecordedServer): StartupError {
  const { server_name: name, host, data_dir: newer } = server
  const isHere = host === hostname()
  const from =
    newer === null ? 'another folder' : newer === dataDir && isHere ? 'a newer state of it' : `${newer} on ${host}`
  const there =
    newer === null || newer === dataDir || !isHere
      ? 'Start the server with those data.'
      : `Set SVC_DATA_DIR to that folder: svc self-host env set SVC_DATA_DIR=${quote(newer)}.`
  return new StartupError(
    `The data folder ${dataDir} is not the newest: its projects were served from ${from} since (server ${name}), so it lacks what was pushed and merged there. ${there} If they are lost and this folder has to replace them, without what it lacks: remove the files server-name and server.lock in it, start once with SVC_SERVER_NAME=${name}, and run svc self-host check; the next backup to the same place needs --claim. Nothing was changed.`,
  )
}
