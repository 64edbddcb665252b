/** The tables of a database, the number of their rows, and a checksum of each. */
import pg from 'pg'

/** Their rows tell about the database, not about the installation. */
const ownTables = ['schema_migrations', 'database_move']

export interface Table {
  name: string
  columns: { name: string; type: string }[]
}

/** The tables of the schema that migrations use, in a fixed order, without those of extensions. */
export async function listTables(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select c.relname as name,
            coalesce(json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod))
              order by a.attnum) filter (where a.attnum is not null), '[]') as columns
       from pg_class c
       left join pg_attribute a
         on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and c.relname <> all ($1)
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
      group by c.relname order by c.relname`,
    [ownTables],
  )
  return rows
}

export const quoted = (name: string) => pg.escapeIdentifier(name)

export const columnList = ({ columns }: Table) => columns.map(({ name }) => quoted(name)).join(', ')

export async function tablesWithRows(client: pg.Client, tables: readonly Table[]): Promise<string[]> {
  if (tables.length === 0) return []
  const each = tables.map(({ name }) => {
    return `select ${pg.escapeLiteral(name)} as name where exists (select from ${quoted(name)})`
  })
  const { rows } = await client.query<{ name: string }>(each.join(' union all '))
  return rows.map(({ name }) => name)
}

export interface Content {
  rows: number
  checksum: string
}

/**
 * The order of rows does not matter, so both databases may read them as they lie. A row's text is the same in every
 * version of PostgreSQL and on every machine; its hash functions for partitions are not, and MD5 may be turned off.
 */
export async function readContent(client: pg.Client, table: Table): Promise<Content> {
  const { rows } = await client.query<{ rows: string; checksum: string }>(
    `select count(*) as rows,
            coalesce(sum(('x' || left(encode(sha256(convert_to(row(${columnList(table)})::text, 'UTF8')), 'hex'), 16)
              )::bit(64)::bigint), 0) as checksum
       from ${quoted(table.name)}`,
  )
  return { rows: Number(rows[0]!.rows), checksum: rows[0]!.checksum }
}

export interface Sequence {
  name: string
  last: string
  isCalled: boolean
}

/** Of identity columns, too. */
export async function readSequences(client: pg.Client): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'S'
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
      order by c.relname`,
  )
  const sequences: Sequence[] = []
  for (const { name } of rows) {
    const read = await client.query<{ last: string; called: boolean }>(
      `select last_value as last, is_called as called from ${quoted(name)}`,
    )
    sequences.push({ name, last: read.rows[0]!.last, isCalled: read.rows[0]!.called })
  }
  return sequences
}
