/** Types of columns that every table uses. */
import type { ColumnType, Generated, JSONColumnType } from 'kysely'

/** ISO text with milliseconds: db/pool.ts parses it so, and replies send it as it is. */
export type Timestamp = ColumnType<string, string | Date, string | Date>
export type Default<T> = Generated<T>
export type Now = ColumnType<string, string | Date | undefined, string | Date>
export type Json<T extends object = Record<string, unknown>> = JSONColumnType<T, string | undefined, string>
