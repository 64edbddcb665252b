/** SQL on the values that sandboxes received. An app has no session: its deploy stands in the column `session_id`. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Db, DbOrTransaction } from '../db/schema.ts'

export interface SealedSecret {
  name: string
  version: number
  sealed: Buffer
}

/** A single statement, so that a value is never used without a record. */
export async function insertGiven(
  db: DbOrTransaction,
  of: { projectId: string; sessionId: string },
  secrets: readonly SealedSecret[],
): Promise<void> {
  if (secrets.length === 0) return
  const rows = secrets.map(({ name, version, sealed }) => {
    const sha256 = createHash('sha256').update(sealed).digest()
    return sql`(${of.projectId}::uuid, ${sha256}::bytea, ${name}::text, ${version}::integer, ${sealed}::bytea)`
  })
  await sql`
    with kept as (
      insert into kept_secrets (project_id, sealed_sha256, name, version, sealed) values ${sql.join(rows)}
      on conflict (project_id, sealed_sha256) do update set kept_at = now()
      returning project_id, sealed_sha256)
    insert into given_secrets (session_id, project_id, sealed_sha256)
    select ${of.sessionId}::uuid, project_id, sealed_sha256 from kept
    on conflict do nothing`.execute(db)
}

function givenTo(db: DbOrTransaction, sessionId: string) {
  return db
    .selectFrom('given_secrets')
    .innerJoin('kept_secrets', (join) =>
      join
        .onRef('kept_secrets.project_id', '=', 'given_secrets.project_id')
        .onRef('kept_secrets.sealed_sha256', '=', 'given_secrets.sealed_sha256'),
    )
    .where('session_id', '=', sessionId)
}

/** Newest first. */
export async function sealedGiven(db: DbOrTransaction, sessionId: string, max: number): Promise<SealedSecret[]> {
  return givenTo(db, sessionId)
    .select(['name', 'version', 'sealed'])
    .orderBy('given_at', 'desc')
    .orderBy('name')
    .limit(max)
    .execute()
}

/** Names of the secrets that the session received in any version. */
export async function namesGiven(db: DbOrTransaction, sessionId: string): Promise<Set<string>> {
  const rows = await givenTo(db, sessionId).select('name').distinct().execute()
  return new Set(rows.map(({ name }) => name))
}

/** The job. Deletes records of deleted sessions and of deploys that ended, and values that no session received. A start takes less than a day. */
export async function forgetGivenSecrets(db: Db): Promise<void> {
  await sql`
    delete from given_secrets g where given_at < now() - interval '1 day'
      and not exists (select from project_sessions s where s.session_id = g.session_id)
      and not exists (select from warm_sandboxes w where w.session_id = g.session_id)
      and not exists (select from app_deploys d where d.deploy_id = g.session_id
        and d.status in ('building', 'starting', 'running', 'restarting'))`.execute(db)
  await sql`
    delete from kept_secrets k where kept_at < now() - interval '1 day'
      and not exists (select from given_secrets g
        where g.project_id = k.project_id and g.sealed_sha256 = k.sealed_sha256)`.execute(db)
}
