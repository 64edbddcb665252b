/**
 * `svc server --backup`: writes one backup of the running or stopped server to a folder, a bucket or one file. Progress is lines on stderr.
 * The database is read in one snapshot, and the refs right after it: what was acknowledged before is in both.
 */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { BackupReport } from '@svc/contract/daemon/operator-reports'
import { endPooledGit } from '@svc/git'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { requireKnownTables } from '../db/migrate.ts'
import { connect, type End } from '../db/move/connect.ts'
import { requireDataHere } from '../db/move/state.ts'
import { readRows } from '../db/move/table-stream.ts'
import { listTables, readSequences } from '../db/move/tables.ts'
import { onConnection, openDatabase } from '../db/pool.ts'
import type { Db } from '../db/schema.ts'
import { examineKey } from '../doctor/examine-key.ts'
import '../failpoint.ts'
import { keyPlace } from '../keyring/key-place.ts'
import { keptServerName } from '../fleet/server-name.ts'
import { makeLog } from '../log.ts'
import { whyUnsure } from '../retention/deletion-clock.ts'
import { readFolderId } from '../startup/folder-lock.ts'
import { StartupError } from '../startup/startup-error.ts'
import { pause } from '../pause.ts'
import { version } from '../version.ts'
import {
  listBackups,
  openForWriting,
  readHeader,
  removeUnneeded,
  removeUnused,
  type WritablePlace,
  type Writer,
  writeManifest,
} from './catalog.ts'
import { type Keep, keepRule, parseKeep } from './duration.ts'
import { type BackupKey, readOrMakeKey } from './key-file.ts'
import { knownBackup, rememberBackup, rememberKey } from './known-places.ts'
import { refuseLostKey } from './lost-key.ts'
import { backupFormat, type Manifest, newBackupId, type StoredTable } from './manifest.ts'
import { leadsInto } from './leads-into.ts'
import { leaveDataRoom } from './place/leave-room.ts'
import { openPlace } from './place/open.ts'
import { type Chunks, NoRoomError, type Place, PlaceError } from './place/place.ts'
import { findRepository, type FoundRepository, homeElsewhere, packRepository } from './repositories.ts'
import { reachData } from './reach-data.ts'
import { removeOldBackups } from './retention.ts'
import { isBeingMade, isPurged, projectsIn, type SnapshotProject } from './snapshot-store.ts'
import { writeStored } from './stored-files.ts'

export interface BackupInput {
  /** A folder, s3://bucket/prefix, or a new file whose name ends in .tar. */
  place: string
  /** Null: that of SVC_BACKUP_KEY_FILE. */
  keyFile: string | null
  /** The key file of the running server, whose settings the caller may not have. Counts where `keyFile` and the settings name none. */
  serverKeyFile?: string | null
  /** As for SVC_BACKUP_KEEP. */
  keep: string | null
  /** Use the place although its earlier backups are gone, or another data folder of the installation made them. */
  claim?: boolean
}

export interface BackupProgress {
  phase: 'waiting' | 'database' | 'repositories'
  name: string
  done: number
  of: number
}

type OnProgress = (progress: BackupProgress) => void

export async function backUp(config: Config, input: BackupInput, onProgress: OnProgress): Promise<BackupReport> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const reached = await reachData(config, log)
  try {
    const database = openDatabase(reached.url, log)
    const end = await connect(reached.url)
    try {
      return await backUpFrom({ config, db: database.db, end }, input, onProgress)
    } finally {
      await end.close()
      await database.close()
      await endPooledGit()
    }
  } finally {
    await reached.end()
  }
}

interface Source {
  config: Config
  db: Db
  end: End
}

async function backUpFrom(source: Source, input: BackupInput, onPhase: OnProgress): Promise<BackupReport> {
  const { client } = source.end
  await requireDataHere(client)
  await requireKnownTables(client)
  const keep = input.keep === null ? null : parseKeep(input.keep)
  if (input.keep !== null && keep === null)
    throw new StartupError(`--keep is ${keepRule}, not ${input.keep}. Nothing was backed up.`)
  const place = await openPlace(input.place, source.config, { likeFolder: source.config.dataDir })
  const onProgress = repeating(place, onPhase)
  requireOutside(source.config.dataDir, input.place)
  const requireRoom = await leaveDataRoom(place, source.config)
  if (place.isOneFile) await requireNewFile(place, keep)
  const keyFile = await keyFileFor(place, input, source.config)
  if (keyFile !== null) await refuseLostKey(source.config, keyFile)
  const key = keyFile === null ? null : await readOrMakeKey(keyFile)
  const wanted = {
    ...{ installation_id: await installationOf(client), recipient: key?.recipient ?? null },
    // A new file has no past, and its copies may go anywhere.
    writer: place.isOneFile ? null : writerOf(source.config),
    known: await knownBackup(source.config, place.address),
    ...{ keyFile, isClaimed: input.claim === true },
  }
  const onWait = (reason: string) => onProgress({ phase: 'waiting', name: reason, done: 0, of: 1 })
  const saveKey = async () => key?.save?.()
  // A folder or bucket belongs to the key from its first file on. One file does once it is whole.
  const onNew = async () => {
    await requireRoom()
    if (!place.isOneFile) await saveKey()
  }
  const to = await openForWriting(place, wanted, { onWait, onNew })
  try {
    // An interrupted first backup may have made the key file, and reported nothing.
    const isFirst = !place.isOneFile && (await listBackups(place)).length === 0
    const manifest = await storeAll(source, { ...to, key, onProgress })
    await to.lock.requireHeld()
    await failpoint('backup.before_manifest')
    await writeManifest(place, manifest)
    if (place.isOneFile) await saveKey()
    await place.complete?.()
    if (!place.isOneFile) await rememberBackup(source.config, place.address, manifest.backup_id)
    if (keyFile !== null && key !== null)
      await rememberKey(source.config, keyFile, { recipient: key.recipient, place: place.address })
    const at = { made: manifest.backup_id, now: new Date(), whyUnsure: () => whyUnsure(source.db) }
    const old = keep === null ? { removed: [], problem: null } : await removeOldBackups(place, keep, at)
    await to.lock.requireHeld()
    // A new file has nothing of earlier backups.
    const damaged = place.isOneFile ? [] : await removeUnused(place)
    return {
      ...reportOf(manifest, place),
      key_file: keyFile,
      made_key: key !== null && key.identity !== null && (isFirst || key.save !== null),
      removed: old.removed,
      retention_problem: old.problem,
      backups: (await listBackups(place)).length - damaged.length,
      master_key_problem: await masterKeyProblem(source),
      damaged,
    }
  } catch (error) {
    // The packs that it finished would keep the disk full.
    if (error instanceof NoRoomError && !place.isOneFile) await removeUnneeded(place).catch(isRemovedLater)
    throw error
  } finally {
    await to.lock.release()
  }
}

/** By the next backup or a removal. The reason why this backup failed matters more. */
function isRemovedLater(): void {}

/** A running server holds its keys in memory, so nothing else shows that their file is gone. */
async function masterKeyProblem({ config, db }: Source): Promise<string | null> {
  const { file, whyUnsure } = keyPlace(config)
  const found = await examineKey({ ...config, masterKeyFile: file }, db)
  if (found?.state !== 'missing') return null
  return whyUnsure === null ? `${found.says}. ${found.mend}` : `${whyUnsure}.`
}

/** The key of the schedule unless another is given. A place with plain backups keeps them plain. */
async function keyFileFor(
  place: Place,
  { keyFile, serverKeyFile = null }: BackupInput,
  { backups }: Config,
): Promise<string | null> {
  const usual = backups?.keyFile ?? serverKeyFile
  if (keyFile !== null || usual === null) return keyFile
  const found = await readHeader(place)
  return found !== null && found.recipient === null ? null : usual
}

const repeatMs = 30_000

/** Reports a long phase again while bytes go to the place, so that whoever waits can tell it from one that hangs. */
function repeating(place: Place, report: OnProgress): OnProgress {
  let last: { progress: BackupProgress; at: number } | null = null
  const onProgress = (progress: BackupProgress) => {
    last = { progress, at: performance.now() }
    report(progress)
  }
  async function* watched(chunks: Chunks): Chunks {
    for await (const chunk of chunks) {
      if (last !== null && performance.now() > last.at + repeatMs) onProgress(last.progress)
      yield chunk
    }
  }
  const write = place.write.bind(place)
  place.write = (name, chunks) => write(name, watched(chunks))
  return onProgress
}

/** Null: no server has used the data folder. */
function writerOf({ dataDir }: Config): Writer | null {
  const folder_id = readFolderId(dataDir)
  return folder_id === null ? null : { folder_id, server: keptServerName(dataDir), host: hostname(), data_dir: dataDir }
}

/** A loss of the data folder would take the backups with it, and the server removes what it does not know there. */
function requireOutside(dataDir: string, place: string): void {
  if (!leadsInto(dataDir, place)) return
  throw new StartupError(
    `${resolve(place)} is inside the data folder ${dataDir}, and would be lost with it. Choose a folder on another disk. Nothing was changed.`,
  )
}

async function requireNewFile(place: Place, keep: Keep | null): Promise<void> {
  if (keep !== null)
    throw new StartupError(
      `--keep removes older backups from a folder or a bucket, and ${place.address} is one file with one backup. Leave --keep out, or choose a folder. Nothing was changed.`,
    )
  if (!(await place.isEmpty()))
    throw new StartupError(
      `${place.address} exists, and a backup overwrites no file. Choose another name, or move that file away. Nothing was changed.`,
    )
}

interface Target extends WritablePlace {
  key: BackupKey | null
  onProgress: OnProgress
}

/** Everything but the manifest, which makes it a backup. */
async function storeAll(source: Source, to: Target): Promise<Manifest> {
  const { client } = source.end
  const facts = await beginSnapshot(client)
  const projects = await projectsIn(onConnection(client))
  const found = await findRepositories(source, projects)
  const backupId = newBackupId(new Date(facts.created_at))
  const stored = await storeTables(client, backupId, to)
  await client.query('commit')
  await failpoint('backup.after_tables')
  const repositories = await storeRepositories(source, found, { ...to, backupId })
  return {
    ...{ format: backupFormat, backup_id: backupId, ...facts, finished_at: new Date().toISOString() },
    ...{ server_version: version, recipient: to.key?.recipient ?? null },
    ...{ tables: stored.tables, sequences: stored.sequences },
    ...{ refs: repositories.refs, repositories: repositories.packed, missing: repositories.missing },
    ...(repositories.purged.length === 0 ? {} : { purged: repositories.purged }),
    added_bytes: stored.bytes + repositories.bytes,
  }
}

function reportOf(manifest: Manifest, { address }: Place) {
  const { backup_id, created_at, tables, repositories, added_bytes, missing } = manifest
  return {
    ...{ backup_id, created_at, place: address, encrypted: manifest.recipient !== null },
    ...{ tables: tables.length, rows: tables.reduce((sum, { rows }) => sum + rows, 0) },
    ...{ repositories: repositories.length, added_bytes, missing },
  }
}

async function installationOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ installation_id: string }>('select installation_id from installation')
  const [first] = rows
  if (first === undefined) throw new StartupError('No server has run on this database, so there is nothing to back up.')
  return first.installation_id
}

/**
 * From here on the connection sees the database as it is now. It is the only one that does: another would need an exported
 * snapshot, which PostgreSQL writes to a disk that may be full.
 */
async function beginSnapshot(client: pg.Client) {
  await client.query('begin transaction isolation level repeatable read read only')
  const { rows } = await client.query<{ installation_id: string; created_at: Date }>(
    'select installation_id, clock_timestamp() as created_at from installation',
  )
  const first = rows[0]!
  const keys = await client.query<{ root_key_id: string; master_key_id: string; wrapped: Buffer }>(
    'select root_key_id, master_key_id, wrapped from root_keys order by position',
  )
  return {
    installation_id: first.installation_id,
    created_at: first.created_at.toISOString(),
    migration: await requireKnownTables(client),
    wrapped_keys: keys.rows.map((row) => ({ ...row, wrapped: row.wrapped.toString('base64') })),
  }
}

async function storeTables(client: pg.Client, backupId: string, { place, key, onProgress }: Target) {
  const tables = await listTables(client)
  const sequences = await readSequences(client)
  const stored: StoredTable[] = []
  const how = { recipient: key?.recipient ?? null, isCompressed: true }
  for (const [done, table] of tables.entries()) {
    onProgress({ phase: 'database', name: table.name, done, of: tables.length })
    let rows = 0
    const name = `data/${backupId}/tables/${table.name}.gz${key === null ? '' : '.age'}`
    const file = await writeStored(
      place,
      name,
      readRows(client, table, () => rows++),
      how,
    )
    stored.push({ ...table, rows, file })
  }
  return { tables: stored, sequences, bytes: stored.reduce((sum, { file }) => sum + file.bytes, 0) }
}

type Unread = Pick<Manifest, 'missing'> & Required<Pick<Manifest, 'purged'>>
type Found = Unread & { found: FoundRepository[] }

/** Soon after the snapshot, so that little happens in between. */
async function findRepositories(source: Source, projects: SnapshotProject[]): Promise<Found> {
  const all: Found = { found: [], missing: [], purged: [] }
  const until = performance.now() + makingMsMax
  for (const project of projects) {
    try {
      const repository = await findWhenMade(source, { project, until })
      if (repository !== null) all.found.push(repository)
    } catch (error) {
      await note(source, all, { project, error: error as Error })
    }
  }
  return all
}

/** For the repositories of all projects that are made right now, whose rows come first. */
const makingMsMax = 5_000
const lookEveryMs = 200

async function findWhenMade(
  { config, db }: Source,
  { project, until }: { project: SnapshotProject; until: number },
): Promise<FoundRepository | null> {
  for (;;) {
    try {
      return await findRepository(config, project)
    } catch (error) {
      if (performance.now() > until || !(await isBeingMade(db, project.project_id))) throw error
      await pause(lookEveryMs, new AbortController().signal)
    }
  }
}

async function note(
  { config, db }: Source,
  unread: Unread,
  { project, error }: { project: SnapshotProject; error: Error },
): Promise<void> {
  if (error instanceof PlaceError) throw error
  const { project_id, slug } = project
  if (await isPurged(db, project_id)) return void unread.purged.push({ project_id, slug })
  const home = homeElsewhere(config.dataDir, project)
  unread.missing.push({ project_id, slug, ...(home === null ? {} : { home }), reason: error.message })
}

async function storeRepositories(
  source: Source,
  { found, ...unread }: Found,
  { backupId, key, onProgress, ...to }: Target & { backupId: string },
) {
  const recipient = key?.recipient ?? null
  const packed: Manifest['repositories'] = []
  const lines: string[] = []
  let bytes = 0
  for (const [done, repository] of found.entries()) {
    const { project, kind } = repository
    onProgress({ phase: 'repositories', name: project.project_id, done, of: found.length })
    try {
      const { copy, packs, addedBytes } = await packRepository(to, repository, recipient)
      packed.push({ project_id: project.project_id, kind, packs })
      lines.push(`${JSON.stringify({ project_id: project.project_id, copy })}\n`)
      bytes += addedBytes
    } catch (error) {
      await note(source, unread, { project, error: error as Error })
    }
  }
  const name = `data/${backupId}/refs.gz${key === null ? '' : '.age'}`
  const how = { recipient, isCompressed: true }
  const refs = await writeStored(to.place, name, bytesOf(lines), how)
  return { packed, ...unread, refs, bytes: bytes + refs.bytes }
}

async function* bytesOf(lines: string[]): AsyncIterable<Uint8Array> {
  for (const line of lines) yield Buffer.from(line)
}
