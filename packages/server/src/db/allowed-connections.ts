/** How many connections PostgreSQL allows: in all, to the role of this server, and to its database. */
import { sql } from 'kysely'
import type { DbOrTransaction } from './schema.ts'

/** The pools of a server, and the connection of its heartbeat. */
export const connectionsMost = 33

export interface ConnectionLimit {
  /** Whose connections count. Null: those of all. */
  owner: { kind: 'role' | 'database'; name: string } | null
  used: number
  most: number
}

/** The fullest first. Superusers have no limit of the role or the database, and a part of `max_connections` to themselves. */
export async function connectionLimits(db: DbOrTransaction): Promise<ConnectionLimit[]> {
  const { rows } = await sql<ConnectionLimit>`
    with own as (
      select oid, rolname, rolconnlimit, rolsuper from pg_roles where rolname = session_user
    ), clients as (
      -- The type is hidden from a role that may not see the connections of others.
      select usesysid, datid from pg_stat_activity where coalesce(backend_type, 'client backend') = 'client backend'
        and datid is not null
    ), limits as (
      select null::json as owner, (select count(*)::int from clients) as used,
        current_setting('max_connections')::int - case when (select rolsuper from own) then 0
          else current_setting('superuser_reserved_connections')::int
            -- PostgreSQL has it since version 16.
            + coalesce(current_setting('reserved_connections', true)::int, 0) end as most
      union all
      select json_build_object('kind', 'role', 'name', rolname),
        (select count(*)::int from clients where usesysid = own.oid), rolconnlimit
      from own where rolconnlimit >= 0 and not rolsuper
      union all
      select json_build_object('kind', 'database', 'name', datname),
        (select count(*)::int from clients where clients.datid = d.oid), datconnlimit
      from pg_database d
      where datname = current_database() and datconnlimit >= 0 and not (select rolsuper from own)
    )
    select owner, used, most from limits order by used::float8 / greatest(most, 1) desc, most`.execute(db)
  return rows
}

/** The setting to raise. */
export function limitSetting({ owner }: Pick<ConnectionLimit, 'owner'>): string {
  return owner === null ? 'max_connections' : `the CONNECTION LIMIT of the ${owner.kind} ${owner.name}`
}
