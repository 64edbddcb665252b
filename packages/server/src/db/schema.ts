/** The tables as Kysely sees them. */
import type { Insertable, Kysely, Selectable, Transaction } from 'kysely'
import type { Schema } from './tables.gen.ts'

export type { Schema }
export type Db = Kysely<Schema>
export type DbOrTransaction = Db | Transaction<Schema>
export type Row<Table extends keyof Schema> = Selectable<Schema[Table]>
export type NewRow<Table extends keyof Schema> = Insertable<Schema[Table]>
