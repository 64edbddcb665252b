import { isCertificateCode } from '@svc/contract/certificates'
import pg from 'pg'
import { MasterKeyError } from '../keyring/master-key.ts'
import { ConfigError } from '../config.ts'
import { EmbeddedPostgresError } from '../db/embedded/postgres.ts'
import { diskFullCode } from '../db/embedded/error.ts'
import { isConnectionLost, isDatabaseUnavailable, isReadOnly } from '../db/unavailable.ts'
import { MigrationError, NewerDatabaseError } from '../db/migrate.ts'
import { MovedDatabaseError } from '../db/move/state.ts'
import { foreignFileHint } from './foreign-file.ts'

/** Why the server cannot start, as the one line its operator reads. */
export class StartupError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StartupError'
  }
}

/** The line for an expected failure, or null for a bug. */
export function startupLine(
  error: unknown,
  config: { dataDir: string; databaseUrl?: string | null } | null,
): string | null {
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
  if (code === diskFullCode)
    return `The disk of the database${config?.databaseUrl == null ? ` in ${where}` : ''} is full: ${(error as Error).message}. Free some space and run this again; nothing was lost.`
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return `${where} cannot be written: ${(error as Error).message}. ${(config && foreignFileHint(config.dataDir, error)) ?? 'Set SVC_DATA_DIR to a folder of your own.'}`
  if (code === mayNotChange && config?.databaseUrl != null) return mayNotChangeText(error as Error, config.databaseUrl)
  if ((code !== undefined && databaseCodes.has(code)) || withoutTls(error))
    return cannotUseText(error as Error, code, config?.databaseUrl ?? null)
  // Only the connection to the database has a certificate at a start.
  if (code !== undefined && isCertificateCode(code))
    return `The certificate of the database at DATABASE_URL is not accepted: ${(error as Error).message.trim()}. Name the file of its authority at the end of DATABASE_URL, and the host as the certificate does: ?sslmode=verify-full&sslrootcert=/etc/svc/ca.crt`
  const { path } = error as { path?: string }
  if (code === 'ENOENT' && path !== undefined && namesOf(config?.databaseUrl ?? null).includes(path))
    return `The file ${path}, which DATABASE_URL names, does not exist.`
  if ((code === 'EPIPE' || code === 'ECONNRESET') && isConnectionLost(error))
    return `The connection to the database broke (${(error as Error).message}): PostgreSQL ended, or the network did. Run this again when the database answers.`
  if (isReadOnly(error))
    return `The database is read-only, as during a failover, and a start changes it (${error.message}). Start again when it accepts changes.`
  if (isDatabaseUnavailable(error))
    return `The database does not answer: ${(error as Error).message}. Start again when it does.`
  return null
}

const refusedRole = 'Correct the role or its password in DATABASE_URL.'
/** What to do next. */
const databaseCodes = new Map([
  ['ECONNREFUSED', 'Start PostgreSQL there, or correct DATABASE_URL.'],
  ['ENOTFOUND', 'Correct the host in DATABASE_URL.'],
  ['28000', refusedRole],
  ['28P01', refusedRole],
  ['3D000', 'Create it there, or correct DATABASE_URL.'],
])
const noTls = 'Turn on TLS there, or remove sslmode from DATABASE_URL.'

function cannotUseText({ message }: Error, code: string | undefined, databaseUrl: string | null): string {
  const next = databaseCodes.get(code ?? '') ?? noTls
  if (databaseUrl === null) return `The database at DATABASE_URL cannot be used: ${message}. ${next}`
  const { user, host, port, database } = new pg.Client({ connectionString: databaseUrl })
  return `The database at DATABASE_URL (${user}@${host}:${port}/${database}) cannot be used: ${message}. ${next}`
}

const mayNotChange = '42501'

function mayNotChangeText({ message }: Error, databaseUrl: string): string {
  const { user, database } = new pg.Client({ connectionString: databaseUrl })
  return `The role ${user} may not change the database ${database} (${message}). Make it the owner there: ALTER DATABASE "${database}" OWNER TO "${user}"`
}

/** Files of certificates. */
function namesOf(databaseUrl: string | null): string[] {
  return databaseUrl !== null && URL.canParse(databaseUrl) ? [...new URL(databaseUrl).searchParams.values()] : []
}

/** `pg` gives this error no code. */
function withoutTls(error: unknown): error is Error {
  return error instanceof Error && error.message === 'The server does not support SSL connections'
}
