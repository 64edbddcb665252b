import { deleteRows } from '../db/rows.ts'
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
export async function lockForChange(db: DbOrTransaction, projectId: string, name: string) {
  await lockProject(db, projectId)
  const ofProject = db.selectFrom('secrets').where('project_id', '=', projectId)
  const rows = await ofProject.select(['name', 'version', 'value_bytes']).execute()
  const found = rows.find((row) => row.name === name)
  const otherBytes = rows.filter((row) => row.name !== name).reduce((sum, row) => sum + row.value_bytes, 0)
  return { nextVersion: (found?.version ?? 0) + 1, otherBytes }
}

export async function upsertSecret(db: DbOrTransaction, row: NewRow<'secrets'>) {
  const { version, sealed, value_bytes } = row
  return db
    .insertInto('secrets')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'name']).doUpdateSet({ version, sealed, value_bytes, updated_at: new Date() }),
    )
    .returning(shown)
    .executeTakeFirstOrThrow()
}

export async function deleteSecretRow(db: DbOrTransaction, projectId: string, name: string): Promise<boolean> {
  return (await deleteRows(db, 'secrets', { project_id: projectId, name })) > 0
}
