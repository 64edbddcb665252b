/** Copies all rows of an installation into tables that our migrations have made, in one transaction on each side. */
import type pg from 'pg'
import { StartupError } from '../../startup/startup-error.ts'
import { copyTable } from './copy-table.ts'
import type { End } from './connect.ts'
import { writeMove } from './state.ts'
import { type Content, listTables, quoted, readContent, readSequences, type Sequence, type Table } from './tables.ts'

export type Phase = 'reading' | 'copying' | 'comparing'

export interface Progress {
  phase: Phase
  table: string
  /** Rows while copying; tables otherwise. */
  done: number
  of: number
}

interface Ends {
  from: End
  to: End
}

interface CopyInput extends Ends {
  moveId: string
  onProgress: (progress: Progress) => void
}

interface Copied {
  tables: number
  rows: number
}

const progressEveryRows = 10_000

/** All or nothing: the copy is there with its mark `copied`, or the tables are as they were. */
export async function copyData({ from, to, moveId, onProgress }: CopyInput): Promise<Copied> {
  const tables = await tablesOf({ from, to })
  await from.client.query('begin transaction isolation level repeatable read read only')
  const wanted = await readAll(from, tables, (table, done) =>
    onProgress({ phase: 'reading', table, done, of: tables.length }),
  )
  const sequences = await readSequences(from.client)
  await to.client.query('begin')
  const putBack = await takeOff(to.client, tables)
  await failpoint('database.before_rows')
  await copyAll({ from, to }, { tables, wanted, onProgress })
  await putBack()
  for (const { name, last, isCalled } of sequences)
    await to.client.query('select setval($1::regclass, $2, $3)', [quoted(name), last, isCalled])
  const found = await readAll(to, tables, (table, done) =>
    onProgress({ phase: 'comparing', table, done, of: tables.length }),
  )
  requireSame({ wanted, found }, { wanted: sequences, found: await readSequences(to.client) })
  await writeMove(to.client, { move_id: moveId, state: 'copied', other: from.address })
  await failpoint('database.before_commit')
  await to.client.query('commit')
  await from.client.query('commit')
  // So that the first queries are planned by what is there.
  for (const { name } of tables) await to.client.query(`analyze ${quoted(name)}`)
  return { tables: tables.length, rows: totalOf(wanted) }
}

async function tablesOf({ from, to }: Ends): Promise<Table[]> {
  const [there, here] = await Promise.all([listTables(from.client), listTables(to.client)])
  const text = (tables: Table[]) =>
    new Map(
      tables.map(({ name, columns }) => [
        name,
        columns
          .map((each) => `${each.name} ${each.type}`)
          .toSorted()
          .join(),
      ]),
    )
  const [theirs, ours] = [text(there), text(here)]
  const names = [...new Set([...theirs.keys(), ...ours.keys()])]
  const different = names.filter((name) => theirs.get(name) !== ours.get(name))
  if (different.length === 0) return here
  throw new StartupError(
    `These tables of ${from.address} are not as svc makes them: ${listed(different)}. A move would lose what others added; undo that first, or keep such tables in a schema of their own. Nothing was moved.`,
  )
}

/** Reads every table once, which gives the totals as well. */
async function readAll(
  { client }: End,
  tables: readonly Table[],
  onTable: (name: string, done: number) => void,
): Promise<Map<string, Content>> {
  const contents = new Map<string, Content>()
  for (const [done, table] of tables.entries()) {
    onTable(table.name, done)
    contents.set(table.name, await readContent(client, table))
  }
  return contents
}

async function copyAll(
  { from, to }: Ends,
  { tables, wanted, onProgress }: { tables: Table[]; wanted: Map<string, Content> } & Pick<CopyInput, 'onProgress'>,
): Promise<void> {
  const of = totalOf(wanted)
  let done = 0
  for (const table of tables) {
    onProgress({ phase: 'copying', table: table.name, done, of })
    await copyTable({ from: from.client, to: to.client }, table, () => {
      done += 1
      if (done % progressEveryRows === 0) onProgress({ phase: 'copying', table: table.name, done, of })
    })
  }
}

const totalOf = (contents: Map<string, Content>) => [...contents.values()].reduce((sum, { rows }) => sum + rows, 0)

/**
 * Empties the tables and takes off what would act on rows that arrive: our triggers, which number, stamp and notify, and
 * foreign keys, which a table may need before the table it refers to. An owner of the tables may do that; turning off
 * all triggers at once takes a superuser. Adding a key again verifies all rows. The names and the order stay.
 */
export async function takeOff(client: pg.Client, tables: readonly Table[]): Promise<() => Promise<void>> {
  const names = tables.map(({ name }) => quoted(name))
  const { rows: keys } = await client.query<{ owner: string; name: string; definition: string }>(
    `select c.relname as owner, k.conname as name, pg_get_constraintdef(k.oid) as definition
       from pg_constraint k join pg_class c on c.oid = k.conrelid
      where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace
      order by k.oid`,
  )
  await client.query(`truncate ${names.join(', ')}`)
  for (const { owner, name } of keys) await client.query(`alter table ${quoted(owner)} drop constraint ${quoted(name)}`)
  for (const name of names) await client.query(`alter table ${name} disable trigger user`)
  return async () => {
    for (const { owner, name, definition } of keys)
      await client.query(`alter table ${quoted(owner)} add constraint ${quoted(name)} ${definition}`)
    for (const name of names) await client.query(`alter table ${name} enable trigger user`)
  }
}

interface Compared<T> {
  wanted: T
  found: T
}

/** The last word on a copy: nothing is committed if it differs. */
function requireSame(contents: Compared<Map<string, Content>>, sequences: Compared<Sequence[]>): void {
  const different = [...contents.wanted].flatMap(([name, { rows, checksum }]) => {
    const found = contents.found.get(name)
    if (found?.rows === rows && found.checksum === checksum) return []
    return [`${name} (${rows} rows there, ${found?.rows ?? 0} in the copy)`]
  })
  if (JSON.stringify(sequences.wanted) !== JSON.stringify(sequences.found)) different.push('the counters of ids')
  if (different.length === 0) return
  throw new StartupError(
    `The copy differs from the data in: ${listed(different)}. It was discarded, and the data are as they were. Run the command again.`,
  )
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}
