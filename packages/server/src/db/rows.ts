/**
 * Statements on the rows of one table that have these values in these columns. A list means any of its values, and SQL
 * is what follows the name of the column: ``{ expires_at: sql`> ${now}` }``.
 */
import { invariant } from '@svc/contract'
import { type ExpressionBuilder, type InsertObject, type RawBuilder, sql, type UpdateObject } from 'kysely'
import type { DbOrTransaction, Row, Schema } from './schema.ts'

type Table = keyof Schema & string
type Column<T extends Table> = keyof Row<T> & string
type Where<T extends Table> = { [C in Column<T>]?: Row<T>[C] | readonly Row<T>[C][] | RawBuilder<unknown> }
type Values<T extends Table> = InsertObject<Schema, T>
/** The columns that an update sets. */
export type Changes<T extends Table> = UpdateObject<Schema, T, T>

/** One table as an example for the types: each function checks its arguments against the real one. */
type Any = 'projects'

export function findRow<T extends Table>(db: DbOrTransaction, table: T, where: Where<T>): Promise<Row<T> | null> {
  const query = db.selectFrom(table as Any).selectAll()
  return first<T>(query.where(matches(where)))
}

/** Locks the row until the transaction ends. */
export function lockRow<T extends Table>(trx: DbOrTransaction, table: T, where: Where<T>): Promise<Row<T> | null> {
  const query = trx.selectFrom(table as Any).selectAll()
  return first<T>(query.where(matches(where)).forUpdate())
}

type Order<T extends Table> = Column<T> | `${Column<T>} desc`

/** In this order. */
export async function listRows<T extends Table>(
  db: DbOrTransaction,
  table: T,
  where: Where<T>,
  ...order: Order<T>[]
): Promise<Row<T>[]> {
  return (await inOrder(db, table, where, order).execute()) as unknown as Row<T>[]
}

/** At most `limit`, in this order. */
export async function firstRows<T extends Table>(
  db: DbOrTransaction,
  table: T,
  where: Where<T>,
  limit: number,
  ...order: Order<T>[]
): Promise<Row<T>[]> {
  return (await inOrder(db, table, where, order).limit(limit).execute()) as unknown as Row<T>[]
}

function inOrder<T extends Table>(db: DbOrTransaction, table: T, where: Where<T>, order: Order<T>[]) {
  const query = db.selectFrom(table as Any).selectAll()
  return order.reduce(
    (ordered, by) => ordered.orderBy(sql.ref(by.replace(' desc', '')), by.endsWith('desc') ? 'desc' : 'asc'),
    query.where(matches(where)),
  )
}

export async function insertRow<T extends Table>(db: DbOrTransaction, table: T, row: Values<T>): Promise<void> {
  await insertion(db, table, row).execute()
}

/** False when another row has the same values in these columns, or in those of any unique index. */
export async function insertIfNew<T extends Table>(
  db: DbOrTransaction,
  table: T,
  row: Values<T>,
  unique: Column<T>[] = [],
): Promise<boolean> {
  const query = insertion(db, table, row).onConflict((conflict) =>
    unique.length === 0 ? conflict.doNothing() : conflict.columns(unique as never[]).doNothing(),
  )
  return ((await query.executeTakeFirst()).numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Updates all other columns when there is a row with the same values in these columns. */
export async function upsertRow<T extends Table>(
  db: DbOrTransaction,
  table: T,
  row: Values<T>,
  ...unique: Column<T>[]
): Promise<void> {
  const rest = Object.fromEntries(Object.entries(row).filter(([column]) => !unique.includes(column as Column<T>)))
  const query = insertion(db, table, row)
  await query.onConflict((conflict) => conflict.columns(unique as never[]).doUpdateSet(rest)).execute()
}

/** How many rows changed. */
export async function updateRows<T extends Table>(
  db: DbOrTransaction,
  table: T,
  where: Where<T>,
  set: Changes<T>,
): Promise<number> {
  const { numUpdatedRows } = await update(db, table, where, set).executeTakeFirst()
  return Number(numUpdatedRows)
}

/** The changed row, or null when there is none. */
export function updateRow<T extends Table>(
  db: DbOrTransaction,
  table: T,
  where: Where<T>,
  set: Changes<T>,
): Promise<Row<T> | null> {
  return first<T>(update(db, table, where, set).returningAll())
}

/** How many rows were deleted. */
export async function deleteRows<T extends Table>(db: DbOrTransaction, table: T, where: Where<T>): Promise<number> {
  const query = db.deleteFrom(table as Any)
  return Number((await query.where(matches(where)).executeTakeFirst()).numDeletedRows)
}

/** The deleted row, or null when there was none. */
export function takeRow<T extends Table>(db: DbOrTransaction, table: T, where: Where<T>): Promise<Row<T> | null> {
  const query = db.deleteFrom(table as Any)
  return first<T>(query.where(matches(where)).returningAll())
}

interface Query<Found> {
  executeTakeFirst(): Promise<Found | undefined>
}

export async function firstRow<Found>(query: Query<Found>): Promise<Found | null> {
  return (await query.executeTakeFirst()) ?? null
}

export async function hasRow(query: Query<unknown>): Promise<boolean> {
  return (await query.executeTakeFirst()) !== undefined
}

async function first<T extends Table>(query: Query<unknown>): Promise<Row<T> | null> {
  return (await firstRow(query)) as Row<T> | null
}

function insertion<T extends Table>(db: DbOrTransaction, table: T, row: Values<T>) {
  return db.insertInto(table as Any).values(row as Values<Any>)
}

function update<T extends Table>(db: DbOrTransaction, table: T, where: Where<T>, set: Changes<T>) {
  const query = db.updateTable(table as Any).set(set as Changes<Any>)
  return query.where(matches(where))
}

function isSql(value: unknown): value is RawBuilder<unknown> {
  return typeof value === 'object' && value !== null && 'isRawBuilder' in value
}

/** Refuses a value that is missing at run time: the condition would match no row. */
function matches(where: object) {
  const columns = Object.entries(where)
  invariant(
    columns.every(([, value]) => value !== undefined),
    'rows are found by known values',
  )
  const conditions = columns.map(([column, value]) => {
    const ref = sql.ref(column)
    if (value === null) return sql<boolean>`${ref} is null`
    if (isSql(value)) return sql<boolean>`(${ref} ${value})`
    return Array.isArray(value) ? sql<boolean>`${ref} = any(${value})` : sql<boolean>`${ref} = ${value}`
  })
  return (eb: ExpressionBuilder<Schema, Any>) => eb.and(conditions)
}
