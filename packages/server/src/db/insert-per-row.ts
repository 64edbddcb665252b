import { type RawBuilder, sql } from 'kysely'
import type { NewRow, Schema } from './schema.ts'

/**
 * An insert as part of a larger statement: one row for each row of `of`, a name in its with clause. One statement
 * takes one round trip, where a transaction takes one per step and two more.
 */
export function insertPerRow<Table extends keyof Schema & string>(
  table: Table,
  row: NewRow<Table>,
  of: string,
): RawBuilder<unknown> {
  const columns = Object.keys(row).map((name) => sql.ref(name))
  return sql`insert into ${sql.table(table)} (${sql.join(columns)}) select ${sql.join(Object.values(row))} from ${sql.table(of)}`
}
