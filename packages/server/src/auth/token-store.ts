/** What is read of tokens and of projects to tell who may do what. */
import type { Role } from '@svc/contract'
import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Db, Row } from '../db/schema.ts'

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

/** A project as a user sees it, who may have no role in it. */
export type SeenProject = Row<'projects'> & { role: Role | null }

/** What was found where a project was looked for; undefined: there is none. */
export interface Found {
  project: SeenProject | undefined
}

/** Whether the token that opened something in a browser still holds. Null: a browser that is signed in opened it. */
export function tokenHolds(tokenId: Expression<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${tokenId} is null or exists (select 1 from tokens where tokens.token_id = ${tokenId}
    and tokens.revoked_at is null and (tokens.expires_at is null or tokens.expires_at > now())))`
}

export function tokenOfHash(db: Db, sha256: Buffer): Promise<TokenRow | undefined> {
  return db.selectFrom('tokens').select(tokenColumns).where('sha256', '=', sha256).executeTakeFirst()
}

export function projectOfUser(db: Db, projectId: string, userId: string): Promise<SeenProject | undefined> {
  return db
    .selectFrom('projects')
    .leftJoin('account_members', (join) =>
      join.onRef('account_members.account_id', '=', 'projects.account_id').on('account_members.user_id', '=', userId),
    )
    .selectAll('projects')
    .select('account_members.role as role')
    .where('project_id', '=', projectId)
    .executeTakeFirst()
}

/** Both of the above, in one question. */
export async function tokenWithProject(
  db: Db,
  sha256: Buffer,
  projectId: string,
): Promise<{ token: TokenRow; project: SeenProject | undefined } | undefined> {
  const row = await db
    .selectFrom('tokens')
    .leftJoin('projects', (join) => join.on('projects.project_id', '=', projectId))
    .leftJoin('account_members', (join) =>
      join
        .onRef('account_members.account_id', '=', 'projects.account_id')
        .onRef('account_members.user_id', '=', 'tokens.user_id'),
    )
    .selectAll('projects')
    .select([
      'account_members.role as role',
      'tokens.token_id as t_token_id',
      'tokens.user_id as t_user_id',
      'tokens.project_id as t_project_id',
      'tokens.session_id as t_session_id',
      'tokens.generation as t_generation',
      'tokens.expires_at as t_expires_at',
      'tokens.revoked_at as t_revoked_at',
      'tokens.last_used_at as t_last_used_at',
    ])
    .where('tokens.sha256', '=', sha256)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const {
    t_token_id: token_id,
    t_user_id: user_id,
    t_project_id: project_id,
    t_session_id: session_id,
    t_generation: generation,
    t_expires_at: expires_at,
    t_revoked_at: revoked_at,
    t_last_used_at: last_used_at,
    ...project
  } = row
  return {
    token: { token_id, user_id, project_id, session_id, generation, expires_at, revoked_at, last_used_at },
    project: project.project_id === null ? undefined : (project as SeenProject),
  }
}
