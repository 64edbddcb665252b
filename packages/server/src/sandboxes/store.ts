/** All SQL on the sandboxes of sessions and their credentials. */
import { sql } from 'kysely'
import { isServerDead } from '../db/live-instance.ts'
import { type Changes, findRow, insertIfNew, insertRow, listRows, updateRows } from '../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'

export type SandboxRow = Row<'session_sandboxes'>
type InForce = NonNullable<SandboxRow['in_force']>

interface OfGeneration {
  session_id: string
  generation: number
}

/** False when the generation already has a sandbox. */
export function insertSandbox(db: DbOrTransaction, row: NewRow<'session_sandboxes'>): Promise<boolean> {
  return insertIfNew(db, 'session_sandboxes', row, ['session_id', 'generation'])
}

export async function updateSandbox(db: DbOrTransaction, sandboxId: string, set: Changes<'session_sandboxes'>) {
  await updateRows(db, 'session_sandboxes', { sandbox_id: sandboxId }, { ...set, updated_at: new Date() })
}

/** False when another server took it over first. */
export async function takeOverSandbox(
  db: DbOrTransaction,
  { sandbox_id, instance_id }: Pick<SandboxRow, 'sandbox_id' | 'instance_id'>,
  instanceId: string,
): Promise<boolean> {
  const alive = { sandbox_id, instance_id, status: ['provisioning', 'active'] as const }
  return (await updateRows(db, 'session_sandboxes', alive, { instance_id: instanceId, updated_at: new Date() })) > 0
}

export async function sandboxesOf(db: DbOrTransaction, sessionId: string): Promise<SandboxRow[]> {
  return listRows(db, 'session_sandboxes', { session_id: sessionId }, 'generation')
}

export async function isRunElsewhere(
  db: DbOrTransaction,
  session: OfGeneration,
  input: { instanceId: string; staleSeconds: number },
): Promise<boolean> {
  const { rows } = await sql`
    select from session_sandboxes s
    where s.session_id = ${session.session_id} and s.generation = ${session.generation}
      and s.status in ('provisioning', 'active') and s.instance_id <> ${input.instanceId}
      and not ${isServerDead(sql.ref('s.instance_id'), input.staleSeconds)}`.execute(db)
  return rows.length > 0
}

/** The given sandboxes that a session uses or that are warm. One query, because a claim moves a sandbox from one table to the other. */
export async function liveSandboxes(db: DbOrTransaction, sandboxIds: string[]): Promise<string[]> {
  if (sandboxIds.length === 0) return []
  const rows = await db
    .selectFrom('session_sandboxes')
    .select('sandbox_id')
    .where('sandbox_id', 'in', sandboxIds)
    .where('status', 'in', ['provisioning', 'active'])
    .unionAll(db.selectFrom('warm_sandboxes').select('sandbox_id').where('sandbox_id', 'in', sandboxIds))
    .execute()
  return rows.map((row) => row.sandbox_id)
}

/** How many of the given sandboxes a session uses. */
export async function countOfSessions(db: DbOrTransaction, sandboxIds: string[]): Promise<number> {
  const alive = { sandbox_id: sandboxIds, status: ['provisioning', 'active'] as const }
  return (await listRows(db, 'session_sandboxes', alive)).length
}

export function getSandbox(db: DbOrTransaction, sandboxId: string): Promise<SandboxRow | null> {
  return findRow(db, 'session_sandboxes', { sandbox_id: sandboxId })
}

export async function endSandboxes(
  db: DbOrTransaction,
  sessionId: string,
  status: 'stopped' | 'error',
  error: string | null,
): Promise<void> {
  const alive = { session_id: sessionId, status: ['provisioning', 'active'] as const }
  await updateRows(db, 'session_sandboxes', alive, { status, error, endpoint: null, updated_at: new Date() })
}

/** A sandbox that was ended on purpose, of a session that the next server moves. */
export async function setEnded(db: DbOrTransaction, sandboxId: string, reason: string): Promise<void> {
  const alive = { sandbox_id: sandboxId, status: ['provisioning', 'active'] as const }
  await updateRows(db, 'session_sandboxes', alive, { status: 'stopped', error: reason, updated_at: new Date() })
}

/** The sandboxes of a project whose server is gone for good. */
export async function endOfProject(trx: DbOrTransaction, projectId: string, reason: string): Promise<void> {
  await sql`update session_sandboxes b set status = 'stopped', error = ${reason}, updated_at = now()
    from project_sessions s where s.session_id = b.session_id and s.project_id = ${projectId}
      and b.status in ('provisioning', 'active')`.execute(trx)
}

/** How many of the sessions of these sandboxes have changes that are not saved. */
export async function countUnsaved(db: DbOrTransaction, sandboxIds: string[]): Promise<number> {
  if (sandboxIds.length === 0) return 0
  const rows = await db
    .selectFrom('session_sandboxes')
    .innerJoin('project_sessions', 'project_sessions.session_id', 'session_sandboxes.session_id')
    .select('project_sessions.session_id')
    .where('sandbox_id', 'in', sandboxIds)
    .where('unkept_work', 'is not', null)
    .execute()
  return rows.length
}

export async function insertCredential(db: DbOrTransaction, row: NewRow<'sandbox_credentials'>): Promise<void> {
  await insertRow(db, 'sandbox_credentials', row)
}

export async function holdsServiceKey(db: DbOrTransaction, sandboxId: string): Promise<boolean> {
  const key = { sandbox_id: sandboxId, kind: 'service', revoked_at: null } as const
  return (await findRow(db, 'sandbox_credentials', key)) !== null
}

/** Its sandbox fetches another one for each git command. Two servers may do this at once. */
export async function deleteExpiredCredentials(trx: DbOrTransaction, sessionId: string, at: Date): Promise<void> {
  await sql`
    delete from sandbox_credentials where credential_id in (
      select credential_id from sandbox_credentials where session_id = ${sessionId} and expires_at <= ${at}
      for update skip locked)`.execute(trx)
}

/** The caller holds the lock of the session, so that no credential is issued meanwhile. */
export async function revokeSandboxCredentials(trx: DbOrTransaction, sessionId: string, at: Date): Promise<void> {
  await updateRows(trx, 'sandbox_credentials', { session_id: sessionId, revoked_at: null }, { revoked_at: at })
}

export async function archiveSandboxes(db: DbOrTransaction, endedBefore: Date): Promise<void> {
  await sql`update session_sandboxes set status = 'archived'
    where status in ('stopped', 'error') and updated_at < ${endedBefore}`.execute(db)
}

export async function setInForce(db: DbOrTransaction, of: OfGeneration, inForce: InForce): Promise<void> {
  const { session_id, generation } = of
  await updateRows(db, 'session_sandboxes', { session_id, generation }, { in_force: JSON.stringify(inForce) })
}

export async function inForceOf(db: DbOrTransaction, { session_id, generation }: OfGeneration) {
  return (await findRow(db, 'session_sandboxes', { session_id, generation }))?.in_force ?? null
}
