import { type RawBuilder, sql } from 'kysely'

/** The condition for the next page of a list that is ordered by these two columns; true for the first page. */
export function afterCursor(
  columns: [string, string],
  direction: 'asc' | 'desc',
  cursor: [string, string] | null | undefined,
): RawBuilder<boolean> {
  if (!cursor) return sql<boolean>`true`
  const [first, second] = columns.map((column) => sql.ref(column))
  return sql<boolean>`(${first}, ${second}) ${sql.raw(direction === 'asc' ? '>' : '<')} (${cursor[0]}, ${cursor[1]})`
}
