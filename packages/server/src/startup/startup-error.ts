import { MasterKeyError } from '../keyring/master-key.ts'
import { ConfigError } from '../config.ts'
import { EmbeddedPostgresError } from '../db/embedded/postgres.ts'
import { isDatabaseUnavailable } from '../db/unavailable.ts'
import { MigrationError, NewerDatabaseError } from '../db/migrate.ts'
import { MovedDatabaseError } from '../db/move/state.ts'

/** Why the server cannot start, as the one line its operator reads. */
export class StartupError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StartupError'
  }
}

/** The line for an expected failure, or null for a bug. */
export function startupLine(error: unknown, config: { dataDir: string } | null): string | null {
  if (
    error instanceof StartupError ||
    error instanceof ConfigError ||
    error instanceof NewerDatabaseError ||
    error instanceof MigrationError ||
    error instanceof MovedDatabaseError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MasterKeyError
  )
    return error.message
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  const where = config === null ? 'the data folder' : config.dataDir
  if (code === 'ENOSPC')
    return `The disk that holds ${where} is full. Free some space and start again; nothing was lost.`
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return `${where} cannot be written: ${(error as Error).message}. Set SVC_DATA_DIR to a folder of your own.`
  if (code === 'ECONNREFUSED' || code === '28P01' || code === '3D000' || code === 'ENOTFOUND')
    return `The database at DATABASE_URL cannot be used: ${(error as Error).message}`
  if (isDatabaseUnavailable(error))
    return `The database does not answer: ${(error as Error).message}. Start again when it does.`
  return null
}
