/**
 * `svc server --backup`: writes one backup of the running or stopped server to a folder. Progress is lines on stderr.
 * The database is read in one snapshot, and the refs right after it: what was acknowledged before is in both.
 */
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { endPooledGit } from '@svc/git'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { reachDatabase } from '../db/embedded/reach.ts'
import { requireKnownTables } from '../db/migrate.ts'
import { connect, type End } from '../db/move/connect.ts'
import { requireDataHere } from '../db/move/state.ts'
import { readRows } from '../db/move/table-stream.ts'
import { listTables, readSequences } from '../db/move/tables.ts'
import { openDatabase } from '../db/pool.ts'
import type { Db } from '../db/schema.ts'
import '../failpoint.ts'
import { makeLog } from '../log.ts'
import { lockDataFolder } from '../startup/folder-lock.ts'
import { StartupError } from '../startup/startup-error.ts'
import { pause } from '../pause.ts'
import { version } from '../version.ts'
import { writeStored } from './files.ts'
import { parseKeep } from './duration.ts'
import { listBackups, openForWriting, removeUnused, writeManifest } from './folder.ts'
import { type BackupKey, readOrMakeKeyFile } from './key-file.ts'
import { backupFormat, type Manifest, newBackupId, type StoredTable } from './manifest.ts'
import { findRepository, type FoundRepository, packRepository } from './repositories.ts'
import { refuseUnfinishedRestore } from './restore-mark.ts'
import { removeOldBackups } from './retention.ts'
import { isBeingMade, isPurged, projectsIn, type SnapshotProject } from './snapshot-store.ts'

export interface BackupInput {
  folder: string
  keyFile: string | null
  /** As for SVC_BACKUP_KEEP. */
  keep: string | null
}

export interface BackupReport {
  backup_id: string
  created_at: string
  folder: string
  encrypted: boolean
  /** The key file was made for this backup. */
  made_key: boolean
  tables: number
  rows: number
  repositories: number
  added_bytes: number
  missing: Manifest['missing']
  removed: string[]
  backups: number
}

export interface BackupProgress {
  phase: 'database' | 'repositories'
  name: string
  done: number
  of: number
}

type OnProgress = (progress: BackupProgress) => void

export async function backUp(config: Config, input: BackupInput, onProgress: OnProgress): Promise<BackupReport> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  refuseUnfinishedRestore(config)
  const reached = await reachDatabase(config, log)
  if (reached === null)
    throw new StartupError(
      `There is no database in ${config.dataDir}. Set SVC_DATA_DIR to the data folder of the server, or DATABASE_URL to its PostgreSQL.`,
    )
  try {
    // No server starts on a database that this command has started.
    const folder = reached.isOurs ? lockDataFolder(config.dataDir, randomUUID) : null
    const database = openDatabase(reached.url, log)
    const end = await connect(reached.url)
    try {
      return await backUpFrom({ config, db: database.db, end }, input, onProgress).catch(explained(input.folder))
    } finally {
      await end.close()
      await database.close()
      await endPooledGit()
      folder?.release()
    }
  } finally {
    await reached.end()
  }
}

/** The disk and the folder are those of the backup, and not of the server. */
function explained(folder: string): (error: unknown) => never {
  return (error) => {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC')
      throw new StartupError(
        `The disk that holds ${folder} is full. Earlier backups are whole. Free some space, or keep fewer backups, and run the command again.`,
      )
    if (['EACCES', 'EROFS', 'EPERM', 'ENOTDIR'].includes(code))
      throw new StartupError(`The backup folder ${folder} cannot be written: ${message}. Earlier backups are whole.`)
    throw error
  }
}

interface Source {
  config: Config
  db: Db
  end: End
}

async function backUpFrom(source: Source, input: BackupInput, onProgress: OnProgress): Promise<BackupReport> {
  const { client } = source.end
  await requireDataHere(client)
  const migration = await requireKnownTables(client)
  const keep = input.keep === null ? null : parseKeep(input.keep)
  if (input.keep !== null && keep === null)
    throw new StartupError(`Keep a count of backups such as 30, or an age such as 14d, not ${input.keep}.`)
  const key = input.keyFile === null ? null : await readOrMakeKeyFile(input.keyFile)
  const root = resolve(input.folder)
  const facts = await beginSnapshot(client)
  const lock = await openForWriting(root, {
    installation_id: facts.installation_id,
    recipient: key?.recipient ?? null,
  })
  try {
    const projects = await projectsIn(source.db, facts.snapshot)
    const found = await findRepositories(source, projects)
    const backupId = newBackupId(new Date(facts.created_at))
    const to = { root, backupId, key }
    const stored = await storeTables(client, to, onProgress)
    await client.query('commit')
    await failpoint('backup.after_tables')
    const repositories = await storeRepositories(source, found, { ...to, onProgress })
    const { snapshot: _, ...kept } = facts
    const manifest: Manifest = {
      ...{ format: backupFormat, backup_id: backupId, ...kept, finished_at: new Date().toISOString() },
      ...{ server_version: version, migration, recipient: key?.recipient ?? null },
      ...{ tables: stored.tables, sequences: stored.sequences },
      ...{ refs: repositories.refs, repositories: repositories.packed, missing: repositories.missing },
      added_bytes: stored.bytes + repositories.bytes,
    }
    await failpoint('backup.before_manifest')
    await writeManifest(root, manifest)
    const removed = keep === null ? [] : await removeOldBackups(root, keep, new Date())
    await removeUnused(root)
    return {
      ...reportOf(manifest, root),
      made_key: key?.isNew ?? false,
      removed,
      backups: (await listBackups(root)).length,
    }
  } finally {
    lock.release()
  }
}

function reportOf(manifest: Manifest, folder: string) {
  const { backup_id, created_at, tables, repositories, added_bytes, missing } = manifest
  return {
    ...{ backup_id, created_at, folder, encrypted: manifest.recipient !== null },
    ...{ tables: tables.length, rows: tables.reduce((sum, { rows }) => sum + rows, 0) },
    ...{ repositories: repositories.length, added_bytes, missing },
  }
}

/** From here on the connection sees the database as it is now. */
async function beginSnapshot(client: pg.Client) {
  await client.query('begin transaction isolation level repeatable read read only')
  const { rows } = await client.query<{ snapshot: string; installation_id: string; created_at: Date }>(
    'select pg_export_snapshot() as snapshot, installation_id, clock_timestamp() as created_at from installation',
  )
  const [first] = rows
  if (first === undefined) throw new StartupError('No server has run on this database, so there is nothing to back up.')
  const keys = await client.query<{ root_key_id: string; master_key_id: string; wrapped: Buffer }>(
    'select root_key_id, master_key_id, wrapped from root_keys order by position',
  )
  return {
    ...{ snapshot: first.snapshot, installation_id: first.installation_id },
    created_at: first.created_at.toISOString(),
    wrapped_keys: keys.rows.map((row) => ({ ...row, wrapped: row.wrapped.toString('base64') })),
  }
}

interface Target {
  root: string
  backupId: string
  key: BackupKey | null
}

async function storeTables(client: pg.Client, { root, backupId, key }: Target, onProgress: OnProgress) {
  const tables = await listTables(client)
  const sequences = await readSequences(client)
  const stored: StoredTable[] = []
  const how = { recipient: key?.recipient ?? null, isCompressed: true }
  for (const [done, table] of tables.entries()) {
    onProgress({ phase: 'database', name: table.name, done, of: tables.length })
    let rows = 0
    const name = `data/${backupId}/tables/${table.name}.gz${key === null ? '' : '.age'}`
    const { sourceBytes: _, ...file } = await writeStored(
      root,
      name,
      readRows(client, table, () => rows++),
      how,
    )
    stored.push({ ...table, rows, file })
  }
  return { tables: stored, sequences, bytes: stored.reduce((sum, { file }) => sum + file.bytes, 0) }
}

type Found = { found: FoundRepository[]; missing: Manifest['missing'] }

/** Soon after the snapshot, so that little happens in between. */
async function findRepositories(source: Source, projects: SnapshotProject[]): Promise<Found> {
  const all: Found = { found: [], missing: [] }
  const until = performance.now() + makingMsMax
  for (const project of projects) {
    try {
      const repository = await findWhenMade(source, { project, until })
      if (repository !== null) all.found.push(repository)
    } catch (error) {
      await note(source, all.missing, { project, error: error as Error })
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
  { db }: Source,
  missing: Manifest['missing'],
  { project: { project_id, slug }, error }: { project: SnapshotProject; error: Error },
): Promise<void> {
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error
  if (await isPurged(db, project_id)) return
  missing.push({ project_id, slug, reason: error.message })
}

async function storeRepositories(
  source: Source,
  { found, missing }: Found,
  { root, backupId, key, onProgress }: Target & { onProgress: OnProgress },
) {
  const recipient = key?.recipient ?? null
  const packed: Manifest['repositories'] = []
  const lines: string[] = []
  let bytes = 0
  for (const [done, repository] of found.entries()) {
    const { project, kind } = repository
    onProgress({ phase: 'repositories', name: project.project_id, done, of: found.length })
    try {
      const { copy, packs, addedBytes } = await packRepository(root, repository, recipient)
      packed.push({ project_id: project.project_id, kind, packs })
      lines.push(`${JSON.stringify({ project_id: project.project_id, copy })}\n`)
      bytes += addedBytes
    } catch (error) {
      await note(source, missing, { project, error: error as Error })
    }
  }
  const name = `data/${backupId}/refs.gz${key === null ? '' : '.age'}`
  const how = { recipient, isCompressed: true }
  const { sourceBytes: _, ...refs } = await writeStored(root, name, bytesOf(lines), how)
  return { packed, missing, refs, bytes: bytes + refs.bytes }
}

async function* bytesOf(lines: string[]): AsyncIterable<Uint8Array> {
  for (const line of lines) yield Buffer.from(line)
}
