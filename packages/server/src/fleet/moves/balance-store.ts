/** SQL that chooses which project moves where, so that servers keep about as many. */
import { sql } from 'kysely'
import { isRecent } from '../../db/live-instance.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { hasOtherClock } from '../store.ts'

export interface ServerLoad {
  server_name: string
  projects: number
  is_draining: boolean
  /** Whether sessions can start there. */
  has_sandboxes: boolean
  /** Whether other servers refuse its requests. */
  has_other_clock: boolean
  /** Whether its disk is almost full, so that it accepts no new work. */
  disk_low: boolean
  /** How long it runs already. */
  minutes: number
}

/** Running servers that keep projects. */
export async function loads(db: DbOrTransaction, deadAfterSeconds: number): Promise<ServerLoad[]> {
  const { rows } = await sql<ServerLoad>`
    select s.server_name, s.draining_since is not null as is_draining,
      s.sandboxes_ready is not false as has_sandboxes, bool_or(${hasOtherClock}) as has_other_clock,
      bool_or(i.disk_low is true) as disk_low,
      extract(epoch from now() - min(i.started_at))::float8 / 60 as minutes,
      (select count(*)::integer from projects p where p.home = s.server_name) as projects
    from servers s join server_instances i on i.server_name = s.server_name
    where i.peer_url is not null and ${isRecent(deadAfterSeconds)}
    group by s.server_name order by s.server_name`.execute(db)
  return rows
}

/** Serializes the servers that balance until the transaction ends. False while another one does. */
export async function lockBalance(trx: DbOrTransaction): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('balance of homes', 0)) as locked`.execute(trx)
  return rows[0]!.locked
}

type Movable = Pick<ProjectRow, 'project_id' | 'home' | 'home_epoch'>

const isFree = sql`p.home_state = 'open' and not exists (
  select from project_moves m where m.project_id = p.project_id
    and (m.ended_at is null or (m.phase = 'failed' and m.ended_at > now() - interval '10 minutes')))`

/** A project that nobody uses: nothing of it runs or waits, and nothing happened in it lately. */
export async function idleProject(db: DbOrTransaction, server: string): Promise<Movable | null> {
  const { rows } = await sql<Movable>`
    select p.project_id, p.home, p.home_epoch from projects p where p.home = ${server} and ${isFree}
      and not exists (select from project_sessions s where s.project_id = p.project_id
        and (s.status in ('queued', 'branching', 'provisioning', 'running') or s.last_active_at > now() - interval '10 minutes'))
      and not exists (select from app_deploys d where d.project_id = p.project_id
        and d.status in ('queued', 'building', 'starting', 'running', 'restarting'))
      and not exists (select from check_runs c where c.project_id = p.project_id and c.status in ('queued', 'running'))
      and not exists (select from project_events e where e.project_id = p.project_id
        and e.created_at > now() - interval '10 minutes')
      -- Pushes are no events, except those to the default branch.
      and not exists (select from ref_changes r where r.project_id = p.project_id
        and r.at > now() - interval '10 minutes')
      and not exists (select from project_moves m where m.project_id = p.project_id
        and m.cause = 'balance' and m.requested_at > now() - interval '1 day')
    order by p.updated_at limit 1`.execute(db)
  return rows[0] ?? null
}

/** A move of such a project waits. */
const hasBusyAgent = sql`exists (select from project_sessions s where s.project_id = p.project_id
  and (s.status = 'provisioning' or (s.status = 'running' and s.is_busy)))`

/** Any project of a server that is drained: those at rest first, and of these the ones without live sessions. */
export async function nextToDrain(
  db: DbOrTransaction,
  server: string,
  { isAtRest }: { isAtRest: boolean },
): Promise<Movable | null> {
  const { rows } = await sql<Movable>`
    select p.project_id, p.home, p.home_epoch from projects p where p.home = ${server} and ${isFree}
      ${isAtRest ? sql`and not ${hasBusyAgent}` : sql``}
    order by ${hasBusyAgent}, (select count(*) from project_sessions s where s.project_id = p.project_id
      and s.status in ('provisioning', 'running')), p.updated_at limit 1`.execute(db)
  return rows[0] ?? null
}
