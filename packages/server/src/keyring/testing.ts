/** Data in the format before the root key, and the attempt to decrypt a database with a given key. */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { deleteRows, insertRow, updateRows } from '../db/rows.ts'
import type { Db } from '../db/schema.ts'
import { decrypt, encrypt, keyId } from './cipher.ts'

/** All data keys wrapped by the master key, without a root key. */
export async function makeOldData(
  db: Db,
  masterKey: Buffer,
  dataKeyOf: (projectId: string, wrapped: Buffer) => Buffer,
) {
  const aad = (projectId: string) => JSON.stringify(['data key', projectId, keyId(masterKey)])
  for (const { project_id: id, data_key } of await db.selectFrom('projects').selectAll().execute())
    await updateRows(
      db,
      'projects',
      { project_id: id },
      { data_key: encrypt(masterKey, dataKeyOf(id, data_key), aad(id)), data_key_wrapped_by: null },
    )
  await deleteRows(db, 'root_keys', {})
  await updateRows(db, 'installation', {}, { master_key_id: keyId(masterKey) })
}

/** Old projects for several batches. */
export async function addOldProjects(db: Db, masterKey: Buffer, input: { accountId: string; count: number }) {
  for (let index = 0; index < input.count; index++) {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    await insertRow(db, 'projects', {
      project_id: id,
      account_id: input.accountId,
      slug: `old-${index}`,
      name: 'old',
      repo_url: '',
      default_branch: 'main',
      managed: true,
      settings: '{}',
      data_key: encrypt(masterKey, randomBytes(32), JSON.stringify(['data key', id, keyId(masterKey)])),
      data_key_wrapped_by: null,
    })
  }
}

/** Returns every value that `key` decrypts, directly or through keys it decrypts: it tries every known key on each sealed column for each possible `aad`. */
export async function plunder(db: Db, key: Buffer, derived: (key: Buffer) => Buffer[]): Promise<string[]> {
  const sealed = await sealedValues(db)
  const places = await placesOf(db)
  const keys = new Map<string, Buffer>()
  const texts = new Set<string>()
  const waiting = [key]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (keys.has(next.toString('hex'))) continue
    keys.set(next.toString('hex'), next)
    for (const each of [next, ...derived(next)])
      for (const value of sealed)
        for (const place of places([keyId(key), keyId(next)])) {
          const text = opened(each, value, place)
          if (text === null) continue
          if (text.length === 32) waiting.push(text)
          texts.add(text.toString('utf8'))
        }
  }
  return [...texts]
}

function opened(key: Buffer, value: Buffer, place: string): Buffer | null {
  try {
    return decrypt(key, value, place)
  } catch {
    return null
  }
}

async function sealedValues(db: Db): Promise<Buffer[]> {
  const { rows } = await sql<{ table: string; column: string }>`
    select table_name as table, column_name as column from information_schema.columns
    where table_schema = 'public' and udt_name = 'bytea'`.execute(db)
  const found = await Promise.all(
    rows.map(({ table, column }) =>
      sql<{
        value: Buffer
      }>`select ${sql.ref(column)} as value from ${sql.table(table)} where ${sql.ref(column)} is not null`.execute(db),
    ),
  )
  return found.flatMap(({ rows }) => rows.map(({ value }) => value)).filter((value) => value.length > 28)
}

async function placesOf(db: Db): Promise<(keyIds: string[]) => string[]> {
  const roots = await db.selectFrom('root_keys').select('root_key_id').execute()
  const projects = await db.selectFrom('projects').select('project_id').where('slug', 'not like', 'old-%').execute()
  const secrets = await db.selectFrom('secrets').select(['project_id', 'name', 'version']).execute()
  const values = [
    ...secrets.map(({ project_id, name, version }) => JSON.stringify([project_id, 'secret', name, version])),
    ...projects.flatMap(({ project_id }) => [
      JSON.stringify([project_id, 'git_token']),
      JSON.stringify([project_id, 'host webhook']),
    ]),
  ]
  return (ids) => [
    ...ids.flatMap((id) => [
      ...roots.map(({ root_key_id }) => JSON.stringify(['root key', root_key_id, id])),
      ...projects.map(({ project_id }) => JSON.stringify(['data key', project_id, id])),
    ]),
    ...values,
  ]
}
