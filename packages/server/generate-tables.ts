/** Writes packages/server/src/db/tables.gen.ts from the migrated database. db/schema.test.ts fails when the file is stale. */
import { join } from 'node:path'
import type pg from 'pg'
import { migrate } from './src/db/migrate.ts'
import { createTestDatabase, withClient } from './src/db/testing-cluster.ts'

export interface Column {
  table: string
  column: string
  type: string
  nullable: boolean
  hasDefault: boolean
}

export async function readColumns(client: pg.Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select table_name as table, column_name as column, udt_name as type, is_nullable = 'YES' as nullable,
            column_default is not null or is_identity = 'YES' as "hasDefault"
       from information_schema.columns
      where table_schema = 'public' and table_name <> 'schema_migrations'
      order by table_name, ordinal_position`,
  )
  return rows
}

export async function readEnums(client: pg.Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ name: string; values: string[] }>(
    `select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder)::text[] as values
       from pg_type t join pg_enum e on e.enumtypid = t.oid group by t.typname`,
  )
  return new Map(rows.map(({ name, values }) => [name, values]))
}

const types: Record<string, string> = {
  ...{ uuid: 'string', _uuid: 'string[]', text: 'string', _text: 'string[]', date: 'string' },
  ...{ int4: 'number', int8: 'number', float8: 'number', bool: 'boolean', bytea: 'Buffer' },
}

/** Columns of text whose values SQL does not list. */
const described = new Set(['session_messages.role'])

export async function tablesSource(client: pg.Client): Promise<string> {
  const enums = await readEnums(client)
  const typeOf = ({ table, column, type, nullable, hasDefault }: Column): string => {
    const name = `'${table}.${column}'`
    const orNull = nullable ? ' | null' : ''
    if (type === 'jsonb') return `${hasDefault ? 'JsonOrDefault' : 'Json'}<${name}>${orNull}`
    if (type === 'timestamptz') return (hasDefault ? 'Now' : 'Timestamp') + orNull
    const values = enums.get(type)?.map((value) => `'${value}'`)
    const known = values?.join(' | ') ?? (described.has(`${table}.${column}`) ? `Described[${name}]` : types[type])
    if (known === undefined) throw new Error(`${table}.${column} has the unknown type ${type}`)
    return hasDefault ? `Generated<${known}${orNull}>` : known + orNull
  }
  const tables = Map.groupBy(await readColumns(client), ({ table }) => table)
  const written = [...tables].map(([table, columns]) => {
    const lines = columns.map((column) => `    ${column.column}: ${typeOf(column)}\n`)
    return `  ${table}: {\n${lines.join('')}  }\n`
  })
  return [
    '// Made by packages/server/generate-tables.ts from the migrations; edit those, and the types of JSON in columns.ts.\n',
    "import type { Generated } from 'kysely'\n",
    "import type { Described, Json, JsonOrDefault, Now, Timestamp } from './columns.ts'\n\n",
    `export interface Schema {\n${written.join('')}}\n`,
  ].join('')
}

export const target = join(import.meta.dir, 'src/db/tables.gen.ts')

if (import.meta.main) {
  const database = await createTestDatabase({ name: 'server', prepare: migrate })
  await Bun.write(target, await withClient(database.url, tablesSource))
  await database.drop()
}
