import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import { lockProject } from '../projects/store.ts'

const shown = ['name', 'created_at', 'updated_at', 'created_by'] as const

export async function listSecrets(db: DbOrTransaction, projectId: string) {
  return db.selectFrom('secrets').select(shown).where('project_id', '=', projectId).orderBy('name').execute()
}

export async function sealedSecrets(db: DbOrTransaction, projectId: string) {
  return db
    .selectFrom('secrets')
    .select(['name', 'version', 'sealed'])
    .where('project_id', '=', projectId)
    .orderBy('name')
    .execute()
}

/** Returns the next version of a secret and the size of all others. Locks the project's row until the transaction ends. */
export async function lockForChange(
  db: DbOrTransaction,
  projectId: string,
  name: string,
): Promise<{ nextVersion: number; otherBytes: number }> {
  await lockProject(db, projectId)
  const rows = await db
    .selectFrom('secrets')
    .select(['name', 'version', 'value_bytes'])
    .where('project_id', '=', projectId)
    .execute()
  const found = rows.find((row) => row.name === name)
  const otherBytes = rows.filter((row) => row.name !== name).reduce((sum, row) => sum + row.value_bytes, 0)
  return { nextVersion: (found?.version ?? 0) + 1, otherBytes }
}

export async function upsertSecret(db: DbOrTransaction, row: NewRow<'secrets'>) {
  return db
    .insertInto('secrets')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'name']).doUpdateSet({
        version: row.version,
        sealed: row.sealed,
        value_bytes: row.value_bytes,
        updated_at: new Date(),
      }),
    )
    .returning(shown)
    .executeTakeFirstOrThrow()
}

export async function deleteSecretRow(db: DbOrTransaction, projectId: string, name: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('secrets')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
