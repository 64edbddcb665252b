/**
 * `svc server --restore`: makes a data folder and a database from a backup. Both are empty before, or left by a restore
 * that was interrupted. Everything that acts is held afterwards. Progress is lines on stderr.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { type CopyManifest, endPooledGit, parseCopyManifest, restoreCopy } from '@svc/git'
import type { Config } from '../config.ts'
import { requireKnown } from '../db/migrate.ts'
import '../failpoint.ts'
import { keyId } from '../keyring/cipher.ts'
import { unwrapRootKey } from '../keyring/keyring.ts'
import { MasterKeyError, readMasterKey } from '../keyring/master-key.ts'
import { lockDataFolder } from '../startup/folder-lock.ts'
import { makeDataDir } from '../startup/run-dir.ts'
import { StartupError } from '../startup/startup-error.ts'
import { listBackups, noBackupIn, readBackup, readHeader } from './catalog.ts'
import { readKeyFile } from './key-file.ts'
import type { Manifest } from './manifest.ts'
import { openPlace } from './place/open.ts'
import type { Place } from './place/place.ts'
import { restoreDatabase } from './restore-database.ts'
import { hasRestoreMark, markRestore, unmarkRestore } from './restore-mark.ts'
import { readStored, verifyStored } from './stored-files.ts'

export interface RestoreInput {
  /** A folder, s3://bucket/prefix, or a file whose name ends in .tar. */
  place: string
  /** Null: the newest. */
  backupId: string | null
  keyFile: string | null
}

export interface RestoreReport {
  backup_id: string
  created_at: string
  data_dir: string
  /** Without a password. */
  database: string
  tables: number
  rows: number
  repositories: number
  stopped_sessions: number
  missing: Manifest['missing']
}

export interface RestoreProgress {
  phase: 'verifying' | 'repositories' | 'database'
  name: string
  done: number
  of: number
}

export interface Opened {
  place: Place
  manifest: Manifest
  identity: string | null
}

type OnProgress = (progress: RestoreProgress) => void

export async function restore(config: Config, input: RestoreInput, onProgress: OnProgress): Promise<RestoreReport> {
  const opened = await openBackup(config, input)
  const { manifest } = opened
  await requireMasterKey(config, manifest)
  const { dataDir } = config
  await makeDataDir(dataDir)
  await requireEmptyFolder(dataDir)
  if (opened.place.isOneFile) await verify(opened, onProgress)
  const folder = lockDataFolder(dataDir, randomUUID)
  try {
    await markRestore(dataDir, manifest.backup_id)
    for (const name of madeByRestore) await rm(join(dataDir, name), { recursive: true, force: true })
    await restoreRepositories(config, opened, onProgress)
    await failpoint('restore.after_repositories')
    const database = await restoreDatabase(config, opened, onProgress)
    await unmarkRestore(dataDir)
    const { backup_id, created_at, tables, repositories, missing } = manifest
    return {
      ...{ backup_id, created_at, data_dir: dataDir, ...database },
      ...{ tables: tables.length, rows: tables.reduce((sum, { rows }) => sum + rows, 0) },
      ...{ repositories: repositories.length, missing },
    }
  } finally {
    await endPooledGit()
    folder.release()
  }
}

/** Changes nothing. */
async function openBackup(
  config: Pick<Config, 'objectStore'>,
  { place: address, backupId, keyFile }: RestoreInput,
): Promise<Opened> {
  const place = await openPlace(address, config)
  const ids = (await readHeader(place)) === null ? [] : await listBackups(place)
  const chosen = backupId ?? ids.at(-1)
  if (chosen === undefined || ids.length === 0)
    throw new StartupError(`${await noBackupIn(place)} Nothing was changed.`)
  if (!ids.includes(chosen))
    throw new StartupError(`${place.address} has no backup ${chosen}. It has: ${ids.join(', ')}. Nothing was changed.`)
  const manifest = await readBackup(place, chosen)
  requireKnown(manifest.migration, manifest.server_version)
  return { place, manifest, identity: await identityFor(manifest, keyFile) }
}

async function identityFor({ recipient }: Manifest, keyFile: string | null): Promise<string | null> {
  if (recipient === null) return null
  if (keyFile === null)
    throw new StartupError(
      `The backup is encrypted for ${recipient}. Give its key file with --key. Nothing was changed.`,
    )
  const key = await readKeyFile(keyFile)
  if (key.identity === null)
    throw new StartupError(
      `The key file ${keyFile} has only a recipient, which cannot open a backup. Give the one with the identity (AGE-SECRET-KEY-…). Nothing was changed.`,
    )
  if (key.recipient !== recipient)
    throw new StartupError(
      `The key file ${keyFile} is for ${key.recipient}, and the backup is encrypted for ${recipient}. Nothing was changed.`,
    )
  return key.identity
}

/** Without it no secret of the backup can be opened, and the server would not start. */
async function requireMasterKey({ masterKeyFile }: Config, { wrapped_keys: wraps }: Manifest): Promise<void> {
  const needed = wraps.map(({ master_key_id }) => master_key_id).join(' or ')
  const key = await readMasterKey(masterKeyFile)
  if (key === null)
    throw new MasterKeyError(
      `There is no master key at ${masterKeyFile}, and the backup needs key ${needed}. A backup does not contain it: put the file there, or set SVC_MASTER_KEY_FILE to its place. Nothing was changed.`,
    )
  const mine = wraps.find(({ master_key_id }) => master_key_id === keyId(key))
  if (mine === undefined)
    throw new MasterKeyError(
      `The master key ${masterKeyFile} (${keyId(key)}) is not the one of the backup, which needs key ${needed}. Set SVC_MASTER_KEY_FILE to that file. Nothing was changed.`,
    )
  try {
    unwrapRootKey(key, mine.root_key_id, Buffer.from(mine.wrapped, 'base64'))
  } catch {
    throw new MasterKeyError(
      `The master key ${masterKeyFile} does not open the keys in the backup: its manifest is damaged. Use another backup. Nothing was changed.`,
    )
  }
}

/** One file has often been copied by hand, and reading it twice costs little beside what git does with it. */
async function verify({ place, manifest }: Opened, onProgress: OnProgress): Promise<void> {
  const { tables, refs, repositories } = manifest
  const files = [refs, ...tables.map(({ file }) => file), ...repositories.flatMap(({ packs }) => packs)]
  for (const [done, file] of files.entries()) {
    onProgress({ phase: 'verifying', name: file.name, done, of: files.length })
    await verifyStored(place, file)
  }
}

const madeByRestore = ['repositories', 'mirrors', 'postgres', 'postgres-programs']
const besideData = ['server.lock', 'restore-unfinished', 'log', 'run', 'run-folder']

async function requireEmptyFolder(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => !besideData.includes(name))
  const foreign = hasRestoreMark(dataDir) ? names.filter((name) => !madeByRestore.includes(name)) : names
  if (foreign.length === 0) return
  throw new StartupError(
    `The data folder ${dataDir} is not empty (it has ${foreign[0]}). Set SVC_DATA_DIR to an empty folder. Nothing was changed.`,
  )
}

async function restoreRepositories({ dataDir }: Config, opened: Opened, onProgress: OnProgress): Promise<void> {
  const { place, manifest, identity } = opened
  const all = new Map(manifest.repositories.map((one) => [one.project_id, one]))
  let done = 0
  for await (const { project_id, copy } of copiesIn(opened)) {
    const { kind, packs } = all.get(project_id)!
    onProgress({ phase: 'repositories', name: project_id, done: done++, of: all.size })
    const dir = join(dataDir, kind, `${project_id}.git`)
    await restoreCopy(
      dir,
      copy,
      packs.map((pack) => () => readStored(place, pack, { identity, isCompressed: false })),
    )
    if (!existsSync(dir)) throw new Error(`The repository ${project_id} was not restored.`)
  }
}

async function* copiesIn({
  place,
  manifest,
  identity,
}: Opened): AsyncIterable<{ project_id: string; copy: CopyManifest }> {
  const text = Readable.from(readStored(place, manifest.refs, { identity, isCompressed: true }), { objectMode: false })
  for await (const line of createInterface({ input: text, crlfDelay: Infinity })) {
    const { project_id, copy } = JSON.parse(line) as { project_id: string; copy: unknown }
    const parsed = parseCopyManifest(copy)
    if (parsed === null)
      throw new StartupError(`The refs of ${project_id} in the backup are damaged. Use another backup.`)
    yield { project_id, copy: parsed }
  }
}
