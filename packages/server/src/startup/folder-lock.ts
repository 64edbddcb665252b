/** The lock of a data folder. The kernel holds it for the process, so it ends with the process, however that ends. */
import { dlopen, FFIType, type Pointer, read as readMemory } from 'bun:ffi'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { constants as system } from 'node:os'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { folderLockName } from '@svc/contract/daemon/owner-socket'
import type { Config } from '../config.ts'
import { databaseOfHolder } from './ask-holder.ts'
import { StartupError } from './startup-error.ts'

const LOCK_EX = 2
const LOCK_NB = 4
/** A program that inherited the file would hold the lock after this process has ended. Node.js names no constant for it. */
const closeOnExec = process.platform === 'darwin' ? 0x1000000 : 0o2000000
const contentBytesMax = 200

export interface FolderLock {
  /** The id of the folder, which stays when another server takes it. */
  folderId: string
  /** Null while the path leads to the folder that was locked. */
  whyGone(): string | null
  release(): void
}

/** Locks the data folder for this process. Throws when a server holds the lock, with the reason of `whenHeld`, or a command. */
export function lockDataFolder(dataDir: string, newId: () => string, whenHeld: WhenHeld = inUse): FolderLock {
  const file = openSync(join(dataDir, folderLockName), constants.O_RDWR | constants.O_CREAT | closeOnExec, 0o600)
  const outcome = tryLock(file)
  const found = read(file)
  if (outcome !== 'locked') closeSync(file)
  if (outcome === 'held') throw new StartupError(reasonOf(dataDir, found?.pid ?? null, whenHeld))
  if (outcome !== 'locked')
    throw new StartupError(
      `The data folder ${dataDir} cannot be locked: its file system refuses file locks (${outcome.refused}). Without them, two servers could change it at once. Set SVC_DATA_DIR to a folder on a local disk, or mount this file system with locks.`,
    )
  const folderId = found?.folderId ?? newId()
  writeHolder(file, folderId)
  // It stays open, so that no other folder gets its inode.
  const folder = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY | closeOnExec)
  return {
    folderId,
    whyGone: () => whyGone(dataDir, folder),
    release: () => [folder, file].forEach((each) => closeSync(each)),
  }
}

function whyGone(dataDir: string, folder: number): string | null {
  const opened = fstatSync(folder, { bigint: true })
  try {
    const { dev, ino } = statSync(dataDir, { bigint: true })
    return dev === opened.dev && ino === opened.ino
      ? null
      : 'another folder is in its place, as after a mount or a move'
  } catch (error) {
    // Another error, as of a network folder that does not answer, tells nothing.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it was moved, removed or unmounted' : null
  }
}

type WhenHeld = (dataDir: string, holder: string) => string

function reasonOf(dataDir: string, pid: number | null, whenHeld: WhenHeld): string {
  if (pid === null) return whenHeld(dataDir, '')
  const command = commandOf(pid)
  if (command === null) return whenHeld(dataDir, ` (process ${pid})`)
  return `svc self-host ${command} (process ${pid}) uses the data folder ${dataDir}. Wait until it has ended.`
}

/** The command of `svc self-host` for which a process runs this program, such as `svc server --resume`. Null: a server. */
function commandOf(pid: number): string | null {
  const path = `/proc/${pid}/cmdline`
  if (!existsSync(path)) return null
  const [, flag] = /\0server\0--([a-z-]+)\0/.exec(readFileSync(path, 'utf8')) ?? []
  if (flag === undefined) return null
  return flag === 'end-sandboxes' ? 'stop --sessions' : flag
}

const inUse: WhenHeld = (dataDir, holder) =>
  `The data folder ${dataDir} is in use by another server${holder}. Stop that server first, or set SVC_DATA_DIR to another folder.`

/** For a command that reads the data of a server, running or not, and found its embedded database stopped. */
export async function lockStoppedData(dataDir: string): Promise<FolderLock> {
  const used = await databaseOfHolder(dataDir)
  return lockDataFolder(dataDir, randomUUID, (_, holder) => {
    const server = `The server of the data folder ${dataDir}${holder} runs, and its`
    if (used?.kind !== 'embedded')
      return `${server} database is not the one in that folder. Set DATABASE_URL for this command as for that server. If the server starts or stops right now, wait until it has. Nothing was changed.`
    return `${server} embedded database does not: ${used.problem ?? 'it starts just now, or again because its socket was removed'}. The server starts it again by itself. Run this again once svc self-host status shows the database without a problem. Nothing was changed.`
  })
}

/** Locks a file of a backup, which it makes. Null: another process holds the lock. */
export function lockFile(path: string): { release(): void } | null {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT | closeOnExec, 0o600)
  const outcome = tryLock(file)
  if (outcome === 'locked') return { release: () => closeSync(file) }
  closeSync(file)
  if (outcome === 'held') return null
  throw new StartupError(
    `The file system of ${path} refuses file locks (${outcome.refused}), so two backups could write there at once. Back up to a folder on another disk or to a bucket, or mount this file system with locks. Earlier backups are whole.`,
  )
}

/** The id of the folder; null before its first server. */
export function readFolderId(dataDir: string): string | null {
  return readHolder(dataDir)?.folderId ?? null
}

/** Whether the folder at this path is still the one that this process has locked. */
export function holdsFolder(dataDir: string): boolean {
  return readHolder(dataDir)?.pid === process.pid
}

/** Whether another process holds the lock of a folder that has its file. */
export function isFolderLocked(dataDir: string): boolean {
  const file = openSync(join(dataDir, folderLockName), constants.O_RDONLY | closeOnExec)
  try {
    return tryLock(file) === 'held'
  } finally {
    closeSync(file)
  }
}

function readHolder(dataDir: string): ReturnType<typeof read> {
  const path = join(dataDir, folderLockName)
  if (!existsSync(path)) return null
  const file = openSync(path, constants.O_RDONLY | closeOnExec)
  try {
    return read(file)
  } finally {
    closeSync(file)
  }
}

/** Whether the server of this data folder uses a PostgreSQL that these settings do not name. */
export function lacksDatabaseUrl({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): boolean {
  const hasOwn = existsSync(join(dataDir, 'postgres', 'PG_VERSION'))
  return databaseUrl === null && !hasOwn && readFolderId(dataDir) !== null
}

/**
 * The file has the id at each moment, since a folder without its id is a stranger to its backups: a crash or a full disk
 * may come in between. No other file can take its name, because the lock is on the file itself.
 */
function writeHolder(file: number, folderId: string): void {
  const content = `${process.pid} ${folderId}\n`
  writeSync(file, content, 0)
  // In this order: a file that is cut before it is written anew lacks the end of its id.
  fsyncSync(file)
  ftruncateSync(file, content.length)
}

/** The holder writes its process and the folder's id, for other servers to read. Null before the first server. */
function read(file: number): { pid: number; folderId: string } | null {
  const buffer = Buffer.alloc(contentBytesMax)
  const text = buffer.toString('utf8', 0, readSync(file, buffer, 0, contentBytesMax, 0))
  const [, pid, folderId] = /^(\d+) ([0-9a-f-]{36})\n/.exec(text) ?? []
  return folderId === undefined ? null : { pid: Number(pid), folderId }
}

/** Held: by another process. Refused: the file system has no locks, for example a network folder without them. */
function tryLock(file: number): 'locked' | 'held' | { refused: string } {
  for (const library of ['libc.so.6', 'libc.so', 'libSystem.B.dylib']) {
    try {
      return lockWith(library, file)
    } catch {
      hasAnotherName()
    }
  }
  throw new StartupError('The server found no C library on this machine, so it cannot lock its data folder.')
}

const errorNumber = process.platform === 'darwin' ? '__error' : '__errno_location'

function lockWith(library: string, file: number): ReturnType<typeof tryLock> {
  const { symbols } = dlopen(library, {
    flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    [errorNumber]: { args: [], returns: FFIType.ptr },
  })
  if (symbols.flock!(file, LOCK_EX | LOCK_NB) === 0) return 'locked'
  const errno = readMemory.i32(symbols[errorNumber]!() as Pointer)
  // 0: the runtime made another call of the system in between.
  if (errno === 0 || errno === system.errno.EWOULDBLOCK) return 'held'
  const [name = `error ${errno}`] = Object.entries(system.errno).find(([, number]) => number === errno) ?? []
  return { refused: name }
}

/** Other systems name their C library differently. */
function hasAnotherName(): void {}
