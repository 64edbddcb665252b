/** A connection to one of the two databases of a move. */
import pg from 'pg'
import { StartupError } from '../../startup/startup-error.ts'
import { moverName } from '../migrate.ts'
import { noteLost } from '../unavailable.ts'
import { valueFormat } from '../value-format.ts'

const connectMsMax = 20_000

/**
 * So that a value has the same text in both databases, whatever their defaults are, and no limit ends a long statement.
 * PostgreSQL has `transaction_timeout` since version 17.
 */
const settings = `
  set application_name = '${moverName}';
  set client_encoding = 'UTF8';
  ${Object.entries(valueFormat)
    .map(([name, value]) => `set ${name} = '${value}';`)
    .join(' ')}
  set statement_timeout = 0;
  set idle_in_transaction_session_timeout = 0;
  set lock_timeout = '10s';
  select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'`

export interface End {
  client: pg.Client
  /** For messages: without a password. */
  address: string
  close(): Promise<void>
}

/** `name` replaces the address in messages, as for the embedded database, whose address means nothing to anyone. */
export async function connect(url: string, name?: string): Promise<End> {
  const client = makeClient(url)
  const address = name ?? addressOf(client)
  // Every query that is open fails with the same error; without a listener it would end the process.
  client.on('error', noteLost)
  try {
    await client.connect()
    await client.query(settings)
  } catch (error) {
    await client.end().catch(reportedByQueries)
    throw explain(error as Error, client, address)
  }
  return { client, address, close: () => client.end().catch(reportedByQueries) }
}

function makeClient(url: string): pg.Client {
  try {
    return new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMsMax, keepAlive: true })
  } catch (error) {
    // The message about a file that the URL names, such as sslrootcert, has its path; others may repeat the password.
    const { syscall, message } = error as NodeJS.ErrnoException
    const why = syscall === undefined ? 'it is malformed' : `a file that it names cannot be read: ${message}`
    throw new StartupError(
      `The URL of the database cannot be used: ${why}. It is like postgresql://user:password@host:5432/name. Nothing was changed.`,
    )
  }
}

function reportedByQueries(): void {}

/** Without a password. */
export function addressOf({ user, host, port, database }: pg.Client): string {
  return `${user === undefined ? '' : `${user}@`}${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}

const noRole = '28000 InitializeSessionUserId'

/** Advice for the operator, by the codes of PostgreSQL and of the network. */
const cures: Record<string, (client: pg.Client) => string> = {
  '28P01': ({ user }) => `Check the name and the password of the role ${user} in the URL`,
  // PostgreSQL has one code for a role that is missing or may not sign in, and for an address that is not allowed.
  [noRole]: ({ user }) => `Create the role there: CREATE ROLE "${user}" LOGIN PASSWORD '…'`,
  '28000': () => 'Allow this role and this address in pg_hba.conf of that PostgreSQL, with TLS if it asks for it',
  '3D000': ({ user, database }) =>
    `Create it there: CREATE DATABASE "${database}" OWNER "${user}" ENCODING 'UTF8' TEMPLATE template0`,
  '42501': ({ user, database }) => `Allow it there: GRANT CONNECT ON DATABASE "${database}" TO "${user}"`,
  '53300': () => 'Close other connections to it, or raise max_connections',
  ENOTFOUND: () => 'Check the name of the host in the URL',
  EAI_AGAIN: () => 'Check the name of the host in the URL, and the name servers of this machine',
  ECONNREFUSED: () => 'Check the host and the port in the URL, and that PostgreSQL listens there (listen_addresses)',
  ENOENT: () => 'Check the folder of the socket in the URL',
}

function explain(error: Error, client: pg.Client, address: string): StartupError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const { routine = '' } = error as pg.DatabaseError
  const cure =
    (cures[`${code} ${routine}`] ?? cures[code])?.(client) ?? 'Check the URL, and that this machine may connect there'
  const why = error.message.trim() || code || 'it does not answer'
  return new StartupError(`Cannot connect to ${address}: ${why}. ${cure}. Nothing was changed.`)
}
