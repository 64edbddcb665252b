/** Tells a database that was emptied, or replaced by an empty one, while a server or a command uses it. */
import pg from 'pg'

const undefinedTable = '42P01'

/** Every start makes all tables, so a statement that misses one has another database before it. */
export function lacksTables(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === undefinedTable
}

export const lacksTablesText = 'The database does not have the tables of this server: it is empty, or another one'

export const lacksTablesMend =
  'Set DATABASE_URL to the database that has the data, and start again; if they are lost, restore a backup into an empty folder (svc self-host restore)'
