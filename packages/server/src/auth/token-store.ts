/** Reads of tokens and projects for authorization. */
import type { Role } from '@svc/contract'
import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Db, DbOrTransaction, Row } from '../db/schema.ts'
import { ofLiveProject } from '../db/live-project.ts'
import { type Actor, mayAdminister } from './actor.ts'

const tokenColumns = [
  'token_id',
  'user_id',
  'project_id',
  'session_id',
  'generation',
  'expires_at',
  'revoked_at',
  'last_used_at',
] as const

export type TokenRow = Pick<Row<'tokens'>, (typeof tokenColumns)[number]>

/** A project with the user's role, if they have one. */
export type SeenProject = Row<'projects'> & { role: Role | null }

export interface Found {
  project: SeenProject | undefined
}

/** Whether the token that opened something in a browser is still valid. Null means that a signed-in browser opened it. */
export function tokenHolds(tokenId: Expression<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${tokenId} is null or exists (select 1 from tokens where tokens.token_id = ${tokenId}
    and tokens.revoked_at is null and (tokens.expires_at is null or tokens.expires_at > now())))`
}

/** Tokens of a deleted project are unknown, as after its purge. */
const ofLiveProjects = ofLiveProject(sql.ref('tokens.project_id'))

export function tokenOfHash(db: Db, sha256: Buffer): Promise<TokenRow | undefined> {
  return db
    .selectFrom('tokens')
    .select(tokenColumns)
    .where('sha256', '=', sha256)
    .where(ofLiveProjects)
    .executeTakeFirst()
}

/** To name another user in a refusal. */
export async function nameOfUser(db: DbOrTransaction, userId: string): Promise<string> {
  const user = await db.selectFrom('users').select('name').where('user_id', '=', userId).executeTakeFirst()
  return user?.name || 'a former user'
}

export function projectOfUser(db: Db, projectId: string, userId: string): Promise<SeenProject | undefined> {
  return anyProjectOfUser(db, projectId, userId).where('deleted_at', 'is', null).executeTakeFirst()
}

/** Includes a deleted project for users who can restore it. */
export async function projectOfUserOrDeleted(
  db: Db,
  projectId: string,
  userId: string,
): Promise<SeenProject | undefined> {
  const row = await anyProjectOfUser(db, projectId, userId).executeTakeFirst()
  const isHidden = row?.deleted_at != null && (row.role === null || !mayAdminister(row.role))
  return isHidden ? undefined : row
}

function anyProjectOfUser(db: Db, projectId: string, userId: string) {
  return db
    .selectFrom('projects')
    .leftJoin('account_members', (join) =>
      join.onRef('account_members.account_id', '=', 'projects.account_id').on('account_members.user_id', '=', userId),
    )
    .selectAll('projects')
    .select('account_members.role as role')
    .where('project_id', '=', projectId)
}

/** In the actor's accounts; a project token sees only its own project. */
export function projectsOfSlug(db: Db, slug: string, actor: Actor): Promise<SeenProject[]> {
  let query = ofMember(db, actor).where('projects.slug', '=', slug)
  if (actor.kind !== 'user') query = query.where('projects.project_id', '=', actor.project_id)
  return query.execute()
}

/** Deleted projects with this slug that the user can restore. */
export async function deletedProjectsOfSlug(db: Db, slug: string, actor: Actor): Promise<SeenProject[]> {
  const rows = await ofMember(db, actor).where('projects.deleted_slug', '=', slug).execute()
  return rows.filter(({ role }) => mayAdminister(role))
}

function ofMember(db: Db, actor: Actor) {
  return db
    .selectFrom('projects')
    .innerJoin('account_members', 'account_members.account_id', 'projects.account_id')
    .selectAll('projects')
    .select('account_members.role as role')
    .where('account_members.user_id', '=', actor.user_id)
    .orderBy('projects.created_at')
}

export async function tokenWithProject(
  db: Db,
  sha256: Buffer,
  projectId: string,
): Promise<{ token: TokenRow; project: SeenProject | undefined } | undefined> {
  const row = await db
    .selectFrom('tokens')
    .leftJoin('projects', (join) =>
      join.on('projects.project_id', '=', projectId).on('projects.deleted_at', 'is', null),
    )
    .leftJoin('account_members', (join) =>
      join
        .onRef('account_members.account_id', '=', 'projects.account_id')
        .onRef('account_members.user_id', '=', 'tokens.user_id'),
    )
    .selectAll('projects')
    .select('account_members.role as role')
    .select(tokenColumns.map((column) => `tokens.${column} as t_${column}` as const))
    .where('tokens.sha256', '=', sha256)
    .where(ofLiveProjects)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const columns = Object.entries(row)
  const ofToken = columns.filter(([name]) => name.startsWith('t_')).map(([name, value]) => [name.slice(2), value])
  const ofProject = columns.filter(([name]) => !name.startsWith('t_'))
  return {
    token: Object.fromEntries(ofToken) as TokenRow,
    project: row.project_id === null ? undefined : (Object.fromEntries(ofProject) as SeenProject),
  }
}
