/** The statements that every store needs, for rows found by the values of their columns. */
import { invariant } from '@svc/contract'
import type { Updateable } from 'kysely'
import type { DbOrTransaction, Row, Schema } from './schema.ts'

interface Query<Found> {
  executeTakeFirst(): Promise<Found | undefined>
}

export async function firstRow<Found>(query: Query<Found>): Promise<Found | null> {
  return (await query.executeTakeFirst()) ?? null
}

export async function hasRow(query: Query<unknown>): Promise<boolean> {
  return (await query.executeTakeFirst()) !== undefined
}

type Table = keyof Schema & string
type Values<T extends Table> = Partial<Row<T>>

export function findRow<T extends Table>(db: DbOrTransaction, table: T, values: Values<T>): Promise<Row<T> | null> {
  const found = db
    .selectFrom(table as 'users')
    .selectAll()
    .where((eb) => eb.and(known(values)))
  return firstRow(found) as Promise<unknown> as Promise<Row<T> | null>
}

export async function updateRows<T extends Table>(
  db: DbOrTransaction,
  table: T,
  values: Values<T>,
  set: Updateable<Schema[T]>,
): Promise<void> {
  await db
    .updateTable(table as 'users')
    .set(set as Updateable<Schema['users']>)
    .where((eb) => eb.and(known(values)))
    .execute()
}

export async function deleteRows<T extends Table>(db: DbOrTransaction, table: T, values: Values<T>): Promise<void> {
  await db
    .deleteFrom(table as 'users')
    .where((eb) => eb.and(known(values)))
    .execute()
}

/** Kysely leaves out a column without a value, and so would find more rows than it was asked for. */
function known(values: object): Values<'users'> {
  const each = Object.values(values)
  invariant(each.length > 0 && each.every((value) => value !== undefined), 'rows are found by known values')
  return values
}
