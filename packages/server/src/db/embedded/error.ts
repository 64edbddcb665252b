import pg from 'pg'

/** Why the embedded PostgreSQL did not start. One line each: the operator reads nothing else. */
export type EmbeddedRefusal =
  | 'disk-full'
  | 'newer-data'
  | 'older-data'
  | 'foreign-data'
  | 'in-use'
  | 'not-writable'
  | 'no-programs'
  | 'failed'

export class EmbeddedPostgresError extends Error {
  readonly kind: EmbeddedRefusal
  constructor(kind: EmbeddedRefusal, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'EmbeddedPostgresError'
    this.kind = kind
  }
}

/** Explains an error of the file system. */
export function explainFileError(error: unknown, dir: string): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(dir, error)
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return notWritable(dir, error)
  return new EmbeddedPostgresError(
    'failed',
    `The data folder ${dir} cannot be used: ${(error as Error).message}`,
    error,
  )
}

/** Explains a failure of PostgreSQL. Its programs exit with 1 for everything, so only their text tells them apart; LC_ALL=C fixes its language. */
export function explainOutput(output: string, dir: string): EmbeddedPostgresError {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(dir)
  if (/lock file "\S+" already exists|is another postmaster/.test(output)) return inUse(dir, null)
  if (/Permission denied|Read-only file system|Operation not permitted/.test(output)) return notWritable(dir)
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const telling =
    lines.findLast((line) => line.includes('PANIC')) ??
    lines.findLast((line) => /FATAL|error:/.test(line) && !refusesConnection.test(line)) ??
    lines.at(-1) ??
    'it wrote no message'
  const cure = isOfLostFiles.test(telling) ? `. ${lostFilesCure}` : ''
  return new EmbeddedPostgresError('failed', `PostgreSQL did not start in ${dir}: ${telling.trim()}${cure}`)
}

/** To our own connections, which ask whether it has started: it may write this after the reason why it ends. */
const refusesConnection = /FATAL: +the database system is /

/** PostgreSQL writes PANIC for a log of changes that lacks its last checkpoint. */
const isOfLostFiles = /PANIC|FATAL: .*(?:does not exist|No such file or directory|could not open directory)/

export const lostFilesCure =
  'Files of the database are lost or damaged. Put them back, or restore a backup into an empty folder (svc self-host restore)'

export function inUse(dir: string, pid: number | null): EmbeddedPostgresError {
  const who = pid === null ? 'another server' : `another server (its PostgreSQL is process ${pid})`
  return new EmbeddedPostgresError('in-use', `The data folder ${dir} is in use by ${who}: stop that one first.`)
}

/** PostgreSQL's. */
export const diskFullCode = '53100'

export const isDatabaseFull = (error: unknown) => error instanceof pg.DatabaseError && error.code === diskFullCode

export function diskFull(dir: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'disk-full',
    `The disk that holds ${dir} is full: free some space and start again.`,
    cause,
  )
}

function notWritable(dir: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'not-writable',
    `The data folder ${dir} cannot be written by this user: set SVC_DATA_DIR to a folder that can.`,
    cause,
  )
}
