import type { Project } from '@svc/contract'
import { projectSettings } from '@svc/contract'
import { sql } from 'kysely'
import { isUuid } from '../auth/allow.ts'
import type { Config } from '../config.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { cutPage, readIdCursor } from '../http/page.ts'

export type ProjectRow = Row<'projects'>

/** The row as the API shows it: without the sealed columns, with the address of the git gateway. */
export function presentProject(config: Pick<Config, 'publicUrl'>, row: ProjectRow): Project {
  const gitUrl = `${config.publicUrl}/v1/projects/${row.project_id}/git`
  return {
    project_id: row.project_id,
    account_id: row.account_id,
    slug: row.slug,
    name: row.name,
    repo_url: row.managed ? gitUrl : row.repo_url,
    git_url: gitUrl,
    default_branch: row.default_branch,
    managed: row.managed,
    config_dir: row.config_dir,
    ssh_public_key: row.ssh_public_key,
    settings: projectSettings.parse(row.settings),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

export async function getProject(db: DbOrTransaction, projectId: string): Promise<ProjectRow | null> {
  return (await db.selectFrom('projects').selectAll().where('project_id', '=', projectId).executeTakeFirst()) ?? null
}

export async function listProjectsOfUser(
  db: DbOrTransaction,
  userId: string,
  page: { limit: number; cursor?: string | undefined; account_id?: string | undefined },
) {
  const after = readIdCursor(page.cursor)
  let query = db
    .selectFrom('projects')
    .selectAll()
    .where('account_id', 'in', (members) =>
      members.selectFrom('account_members').select('account_id').where('user_id', '=', userId),
    )
    .orderBy('created_at', 'desc')
    .orderBy('project_id', 'desc')
    .limit(page.limit + 1)
  if (page.account_id !== undefined)
    query = isUuid(page.account_id)
      ? query.where('account_id', '=', page.account_id)
      : query.where(({ lit }) => lit(false))
  if (after !== null)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'project_id'), '<', tuple(after[0], after[1])),
    )
  return cutPage(await query.execute(), page.limit, (last) => [last.created_at, last.project_id])
}

/** Null when the slug is taken in that account. A retry with the same id finds the row of the first try. */
export async function insertProject(db: DbOrTransaction, row: NewRow<'projects'>): Promise<ProjectRow | null> {
  const inserted = await db
    .insertInto('projects')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'slug']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return inserted ?? null
}

export async function updateProject(
  db: DbOrTransaction,
  projectId: string,
  set: {
    name?: string
    default_branch?: string
    git_token?: Buffer
    git_username?: string
    ssh_public_key?: string | null
    config_dir?: string
    settings?: object
  },
): Promise<ProjectRow> {
  const { settings, ...rest } = set
  return db
    .updateTable('projects')
    .set({
      ...rest,
      ...(settings === undefined ? {} : { settings: sql`settings || ${JSON.stringify(settings)}::jsonb` }),
      updated_at: new Date(),
    })
    .where('project_id', '=', projectId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteProjectRow(db: DbOrTransaction, projectId: string): Promise<void> {
  await db.deleteFrom('projects').where('project_id', '=', projectId).execute()
}

/** Those of the given projects that were deleted here, and are not only unknown: an older backup of the database does not know them either. */
export async function deletedAmong(db: DbOrTransaction, projectIds: string[]): Promise<string[]> {
  if (projectIds.length === 0) return []
  const known = await db.selectFrom('projects').select('project_id').where('project_id', 'in', projectIds).execute()
  const isKnown = new Set(known.map((row) => row.project_id))
  const unknown = projectIds.filter((id) => !isKnown.has(id))
  if (unknown.length === 0) return []
  const deleted = await db
    .selectFrom('audit_events')
    .select('object_id')
    .where('project_id', 'in', unknown)
    .where('action', '=', 'project.delete')
    .execute()
  return deleted.map((row) => row.object_id)
}
