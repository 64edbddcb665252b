/**
 * `svc server --restore`: makes a data folder and a database from a backup. Both are empty before, or left by a restore
 * that was interrupted. Everything that acts is held afterwards. Progress is lines on stderr.
 */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { folderLockName } from '@svc/contract/daemon/owner-socket'
import type { RestoreRefused, RestoreReport } from '@svc/contract/daemon/operator-reports'
import { type CopyManifest, endPooledGit, isDiskFull, parseCopyManifest, restoreCopy } from '@svc/git'
import type { Config } from '../config.ts'
import '../failpoint.ts'
import { keyId } from '../keyring/cipher.ts'
import { unwrapRootKey } from '../keyring/keyring.ts'
import { keptMasterKeys, MasterKeyError, readMasterKey } from '../keyring/master-key.ts'
import { lockDataFolder } from '../startup/folder-lock.ts'
import { markOtherDatabase, markOwnDatabase, otherDatabaseName, ownDatabaseName } from '../startup/other-database.ts'
import { makeDataDir } from '../startup/run-dir.ts'
import { StartupError } from '../startup/startup-error.ts'
import { listBackups } from './catalog.ts'
import { lackingIn, newestAmong } from './complete.ts'
import type { Manifest } from './manifest.ts'
import { PlaceError } from './place/place.ts'
import { requireEmptyDatabase, restoreDatabase } from './restore-database.ts'
import { interruptedRestore, hasRestoreMark, markRestore, unmarkRestore } from './restore-mark.ts'
import { type Opened, openParts, type Part, type RestoreInput } from './restore-parts.ts'
import { damageOr, readStored, verifyStored } from './stored-files.ts'

export interface RestoreProgress {
  phase: 'verifying' | 'repositories' | 'database'
  name: string
  done: number
  of: number
}

type OnProgress = (progress: RestoreProgress) => void

export async function restore(
  config: Config,
  input: RestoreInput,
  onProgress: OnProgress,
): Promise<RestoreReport | RestoreRefused> {
  const { first, others, lacking } = await openParts(config, input)
  const { manifest } = first
  await requireMasterKey(config, manifest)
  if (lacking.length > 0 && !input.acceptLoss) return { lacking, complete: await completeOf(first, lacking) }
  const { dataDir } = config
  const moveId = (await interruptedRestore(dataDir)) ?? randomUUID()
  await requireEmptyDatabase(config, moveId)
  await makeDataDir(dataDir)
  await requireEmptyFolder(dataDir)
  const parts = [first, ...others]
  for (const part of parts) if (part.place.isOneFile) await verify(part, onProgress)
  const folder = lockDataFolder(dataDir, randomUUID)
  try {
    await markRestore(dataDir, { backupId: manifest.backup_id, moveId })
    for (const name of await readdir(dataDir))
      if (isMadeByRestore(name)) await rm(join(dataDir, name), { recursive: true, force: true })
    const lost: Manifest['missing'] = []
    const restored: Part[] = []
    for (const part of parts) {
      const of = await restoreRepositories(config, { part, acceptLoss: input.acceptLoss }, onProgress)
      lost.push(...of.lost)
      restored.push({ ...part, repositories: of.restored })
    }
    await failpoint('restore.after_repositories')
    const rest = restored.slice(1)
    const tableFiles = manifest.tables.map(({ file }) => file)
    const database = await restoreDatabase(config, { opened: first, others: rest, moveId }, onProgress).catch(
      async (error: Error) => Promise.reject(await damageOr(error, first.place, tableFiles)),
    )
    const known = { installationId: manifest.installation_id, address: database.database }
    if (config.databaseUrl === null) markOwnDatabase(dataDir, known)
    else markOtherDatabase(dataDir, known)
    await unmarkRestore(dataDir)
    const { backup_id, created_at, tables } = manifest
    return {
      ...{ backup_id, created_at, data_dir: dataDir, ...database },
      ...{ tables: tables.length, rows: tables.reduce((sum, { rows }) => sum + rows, 0) },
      repositories: restored.reduce((sum, { repositories }) => sum + repositories.length, 0),
      others: rest.map(reportOf),
      left_out: parts.flatMap(({ place, leftOut: ids }) => (ids.length === 0 ? [] : [{ place: place.address, ids }])),
      missing: [...lacking, ...lost],
      purged: manifest.purged ?? [],
    }
  } finally {
    await endPooledGit()
    folder.release()
  }
}

/** Another backup of the place has what this one lacks of its own server, but nothing of other servers. */
async function completeOf({ place }: Opened, lacking: Manifest['missing']): Promise<string | null> {
  if (lackingIn(lacking).length === 0) return null
  return (await newestAmong(place, await listBackups(place)))?.complete ?? null
}

function reportOf({ place, manifest: { backup_id, created_at }, repositories }: Part): RestoreReport['others'][number] {
  return { place: place.address, backup_id, created_at, repositories: repositories.length }
}

/** Without it no secret of the backup can be opened, and the server would not start. */
async function requireMasterKey({ masterKeyFile }: Config, { wrapped_keys: wraps }: Manifest): Promise<void> {
  const ids = wraps.map(({ master_key_id }) => master_key_id)
  const needed = ids.join(' or ')
  const key = await readMasterKey(masterKeyFile)
  const [kept] = await keptMasterKeys(masterKeyFile, ids)
  const beside = kept === undefined ? null : `svc self-host rotate-key kept it: set SVC_MASTER_KEY_FILE=${kept}.`
  if (key === null)
    throw new MasterKeyError(
      `There is no master key at ${masterKeyFile}, and the backup needs key ${needed}. ${beside ?? 'A backup does not contain it: put the file there, or set SVC_MASTER_KEY_FILE to its place.'} Nothing was changed.`,
    )
  const mine = wraps.find(({ master_key_id }) => master_key_id === keyId(key))
  if (mine === undefined)
    throw new MasterKeyError(
      `The master key ${masterKeyFile} (${keyId(key)}) is not the one of the backup, which needs key ${needed}. ${beside ?? 'Set SVC_MASTER_KEY_FILE to that file.'} Nothing was changed.`,
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
async function verify({ place, manifest, repositories }: Part, onProgress: OnProgress): Promise<void> {
  const { tables, refs } = manifest
  const files = [refs, ...tables.map(({ file }) => file), ...repositories.flatMap(({ packs }) => packs)]
  for (const [done, file] of files.entries()) {
    onProgress({ phase: 'verifying', name: file.name, done, of: files.length })
    await verifyStored(place, file)
  }
}

const madeByRestore = ['repositories', 'mirrors', 'postgres', 'postgres-programs', otherDatabaseName, ownDatabaseName]
/** A file system has `lost+found` for its own repair. */
const besideData = ['lost+found', folderLockName, 'restore-unfinished', 'log', 'run', 'run-folder']

/** Files and folders get their names once they are whole. A kill leaves those before. */
const finalName = (name: string) => name.replace(/\.(new-[\w-]+|partial)$/, '')
const isMadeByRestore = (name: string) => madeByRestore.includes(finalName(name))

async function requireEmptyFolder(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => !besideData.includes(finalName(name)))
  const foreign = hasRestoreMark(dataDir) ? names.filter((name) => !isMadeByRestore(name)) : names
  if (foreign.length === 0) return
  throw new StartupError(
    `The data folder ${dataDir} is not empty (it has ${foreign[0]}). Set SVC_DATA_DIR to an empty folder. Nothing was changed.`,
  )
}

async function restoreRepositories(
  { dataDir }: Config,
  { part, acceptLoss }: { part: Part; acceptLoss: boolean },
  onProgress: OnProgress,
): Promise<{ restored: Part['repositories']; lost: Manifest['missing'] }> {
  const { place, identity } = part
  const all = new Map(part.repositories.map((one) => [one.project_id, one]))
  const lost: Manifest['missing'] = []
  const restored: Part['repositories'] = []
  let done = 0
  for await (const { project_id, copy } of copiesIn(part)) {
    const wanted = all.get(project_id)
    if (wanted === undefined) continue
    const { kind, packs } = wanted
    onProgress({ phase: 'repositories', name: project_id, done: done++, of: all.size })
    const dir = join(dataDir, kind, `${project_id}.git`)
    const open = packs.map((pack) => () => readStored(place, pack, { identity, isCompressed: false }))
    try {
      await restoreCopy(dir, copy, open)
      restored.push(wanted)
    } catch (caught) {
      const error = await damageOr(caught as Error, place, packs)
      const reason = whyLost(error)
      if (reason === null) throw error
      if (!acceptLoss)
        throw new StartupError(
          `The repository of the project ${project_id} cannot be restored. ${reason} Restore an earlier backup (--backup), or everything else (--accept-loss): run the command again, which begins anew.`,
        )
      await rm(dir, { recursive: true, force: true })
      lost.push({ project_id, reason })
    }
  }
  return { restored, lost }
}

/** Null: the place or this machine failed, as opposed to what was backed up. */
function whyLost(error: Error): string | null {
  if (error instanceof PlaceError || isDiskFull(error) || isOfThisMachine(error)) return null
  return /[.!]$/.test(error.message) ? error.message : `${error.message}.`
}

/** As a file that cannot be opened. The code of a `GitError` is the exit code of git. */
const isOfThisMachine = (error: NodeJS.ErrnoException) => error.syscall !== undefined

interface RepositoryCopy {
  project_id: string
  copy: CopyManifest
}

/** Yields the copy of each repository in the manifest. Throws when the refs have another one, or lack one. */
async function* copiesIn({ place, manifest, identity }: Opened): AsyncIterable<RepositoryCopy> {
  const { refs, repositories } = manifest
  const expected = new Set(repositories.map(({ project_id }) => project_id))
  const text = Readable.from(readStored(place, refs, { identity, isCompressed: true }), { objectMode: false })
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Infinity })) {
      const { project_id, copy } = JSON.parse(line) as { project_id: string; copy: unknown }
      const parsed = parseCopyManifest(copy)
      if (parsed === null)
        throw new StartupError(`The refs of ${project_id} in the backup are damaged. Use another backup.`)
      if (!expected.delete(project_id)) throw unequal(project_id)
      yield { project_id, copy: parsed }
    }
  } catch (error) {
    throw await damageOr(error as Error, place, [refs])
  }
  for (const projectId of expected) throw unequal(projectId)
}

function unequal(projectId: string): StartupError {
  return new StartupError(
    `The refs and the manifest of the backup differ: only one of them has the repository ${projectId}. Use another backup.`,
  )
}
