import { type SelectQueryBuilder, sql } from 'kysely'
import { cutPage, readIdCursor } from '../http/page.ts'
import { afterCursor } from './after-cursor.ts'

export interface PageQuery {
  limit: number
  cursor?: string | undefined
}

/** A page of the query's rows in the order of two columns: the first is a time, and the second, a UUID, names the row. */
export async function readPage<DB, TB extends keyof DB, Found>(
  query: SelectQueryBuilder<DB, TB, Found>,
  columns: [time: string, id: string],
  direction: 'asc' | 'desc',
  { limit, cursor }: PageQuery,
): Promise<{ rows: Found[]; next: string | null }> {
  const ordered = columns.reduce((before, column) => before.orderBy(sql.ref(column), direction), query)
  const page = ordered.where(afterCursor(columns, direction, readIdCursor(cursor))).limit(limit + 1)
  const names = columns.map((column) => column.split('.').at(-1)) as (keyof Found)[]
  return cutPage((await page.execute()) as Found[], limit, (last) => names.map((name) => String(last[name])))
}
