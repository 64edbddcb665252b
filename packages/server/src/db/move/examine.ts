/** Whether the two databases allow a move. Changes nothing. */
import type pg from 'pg'
import { StartupError } from '../../startup/startup-error.ts'
import { connectionsMost } from '../allowed-connections.ts'
import { knownVersion, requireKnownTables, tryMigrationLock } from '../migrate.ts'
import type { End } from './connect.ts'
import { dayOf, type Move, readMove } from './state.ts'
import { listTables, quoted, tablesWithRows } from './tables.ts'

/** PostgreSQL 15 is the oldest that servers work with. */
const versionMin = 150_000

const stopServers = 'Stop every server of that database first, on its machine: svc self-host stop.'

/** No server starts on the target, and no other move of it begins, until the connection ends. */
export async function lockTarget(to: End, mend = stopServers): Promise<void> {
  if (await tryMigrationLock(to.client)) return requireNoServer(to, mend)
  throw new StartupError(
    `${to.address} is the database that the data are in, or another move or a start of a server uses it. Nothing was changed.`,
  )
}

/** The same for the source. */
export async function lockSource(end: End): Promise<void> {
  if (!(await tryMigrationLock(end.client)))
    throw new StartupError(
      `Another move of the data in ${end.address} is running, or a server is starting on it. Nothing was changed.`,
    )
  await requireNoServer(end, stopServers)
}

/** Servers name their connections, and everyone may read the names. */
async function requireNoServer({ client, address }: End, mend: string): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `select count(distinct application_name)::int as count from pg_stat_activity
      where datname = current_database() and application_name ~ '^svc [0-9a-f-]{36}$'`,
  )
  const { count } = rows[0]!
  if (count === 0) return
  const who = count === 1 ? 'A server is' : `${count} servers are`
  throw new StartupError(`${who} connected to ${address}. ${mend} Nothing was changed.`)
}

/** The mark of the source, which may have been made by a move that was interrupted after it. */
export async function examineSource({ client, address }: End): Promise<Move | null> {
  const { rows } = await client.query<{ found: string | null }>(`select to_regclass('schema_migrations') as found`)
  if (rows[0]!.found == null) throw new StartupError(`There are no data of svc in ${address}. Nothing was changed.`)
  const version = await requireKnownTables(client)
  if (version < knownVersion)
    throw new StartupError(
      `The data in ${address} were written by an earlier svc (its tables are at version ${version}, this program works with ${knownVersion}). Start this version once on them, stop it, then move. Nothing was changed.`,
    )
  const move = await readMove(client)
  if (move?.state === 'arriving' || move?.state === 'copied')
    throw new StartupError(
      `${address} has an unfinished copy of the data in ${move.other}. Move from that one. Nothing was changed.`,
    )
  if (move === null && (await tablesWithRows(client, [{ name: 'installation', columns: [] }])).length === 0)
    throw new StartupError(`No server has run on ${address}, so there is nothing to move. Nothing was changed.`)
  return move
}

/** The embedded database has one server. */
export async function requireOneHome({ client }: End, folderId: string): Promise<void> {
  const { rows } = await client.query<{ home: string }>(
    `select distinct home from projects
      where home is not null and home not in (select server_name from servers where data_folder = $1) order by home`,
    [folderId],
  )
  if (rows.length === 0) return
  throw new StartupError(
    `Projects have their home on other servers (${rows.map(({ home }) => home).join(', ')}), and the embedded database serves one. Start them, then: svc self-host drain ${rows[0]!.home}. Nothing was changed.`,
  )
}

export interface Facts {
  version: number
  versionText: string
  isStandby: boolean
  encoding: string
  schema: string | null
  mayCreate: boolean | null
  connections: number
}

/** `moveId`: an interrupted restore under this id may have filled it already. */
export async function examineTarget(to: End, moveId: string | null = null): Promise<void> {
  const { client, address } = to
  const { rows } = await client.query<Facts>(
    `select current_setting('server_version_num')::int as version,
            current_setting('server_version') as "versionText",
            pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "isStandby",
            pg_encoding_to_char(d.encoding) as encoding,
            current_schema() as schema,
            has_schema_privilege(current_schema(), 'create') as "mayCreate",
            least(nullif(d.datconnlimit, -1), nullif(r.rolconnlimit, -1),
                  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            ) as connections
       from pg_database d, pg_roles r where d.datname = current_database() and r.rolname = current_user`,
  )
  const problem = problemOf(rows[0]!, client)
  if (problem !== null) throw new StartupError(`${address} can't take the data: ${problem}. Nothing was changed.`)
  await requireEmpty(to, moveId)
}

/** Null: the data can go there. */
export function problemOf(facts: Facts, { user, database }: Pick<pg.Client, 'user' | 'database'>): string | null {
  const { version, versionText, isStandby, encoding, schema, mayCreate, connections } = facts
  if (version < versionMin) return `it is PostgreSQL ${versionText}, and servers need version 15 or newer`
  if (isStandby) return 'it is read-only, such as a standby. Use the address of the primary'
  if (encoding !== 'UTF8')
    return `its encoding is ${encoding}. Create a database with ENCODING 'UTF8' TEMPLATE template0`
  if (schema === null) return `the role ${user} has no schema there. Run there: CREATE SCHEMA AUTHORIZATION "${user}"`
  if (mayCreate !== true)
    return `the role ${user} may not create tables in the schema ${schema}. Make it the owner: ALTER DATABASE "${database}" OWNER TO "${user}"`
  if (connections < connectionsMost)
    return `it allows ${connections} connections, and a server needs ${connectionsMost}. Raise max_connections, or the limit of the role or the database`
  return null
}

/** Also accepts the tables of a copy that was interrupted: it has no rows, or the mark that it was not put to use. */
async function requireEmpty({ client, address }: End, moveId: string | null): Promise<void> {
  const { rows: named } = await client.query<{ name: string; owned: boolean }>(
    `select relname as name, pg_has_role(relowner, 'usage') as owned from pg_class c
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by relname`,
  )
  if (named.length === 0) return
  const isOurs = named.some(({ name }) => name === 'schema_migrations')
  const foreign = named.find(({ owned }) => !owned)
  if (!isOurs) throw notEmpty(address, `it has tables of something else (${named[0]!.name})`)
  if (foreign !== undefined)
    throw new StartupError(
      `${address} can't take the data: its table ${foreign.name} belongs to another role. Use that role, or an empty database. Nothing was changed.`,
    )
  await requireKnownTables(client)
  const move = await readMove(client)
  if (move?.state === 'arriving' || move?.state === 'copied') return
  if (move?.state === 'arrived' && move.move_id === moveId) return
  const [first] = await tablesWithRows(client, await listTables(client))
  if (first === undefined) return
  throw notEmpty(
    address,
    move?.state === 'left'
      ? `it has the data that moved to ${move.other} on ${dayOf(move)}`
      : `it has data of svc already (in ${quoted(first)})`,
  )
}

function notEmpty(address: string, why: string): StartupError {
  return new StartupError(
    `${address} is not empty: ${why}. Give the address of an empty database. Nothing was changed.`,
  )
}
