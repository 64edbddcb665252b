/** Rows of every table, the disk by part, and what /metrics says. */
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { run } from '../../e2e/harness.ts'
import type { TortureServer } from '../server.ts'

export async function countRows(url: string): Promise<Record<string, number>> {
  return withClient(url, async (client) => {
    const tables = await client.query<{ name: string }>(
      "select relname as name from pg_stat_user_tables where schemaname = 'public' order by 1",
    )
    const counts = tables.rows.map(({ name }) => `select '${name}' as name, count(*)::int as n from "${name}"`)
    const { rows } = await client.query<{ name: string; n: number }>(counts.join(' union all '))
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
  })
}

/** In MiB. What an earlier path contains, a later one does not count again; a missing path has nothing. */
export async function diskOf(parts: Record<string, string>): Promise<Record<string, number>> {
  const ran = await run(['du', '-sk', '--', ...Object.values(parts)])
  const sizes = new Map(ran.stdout.split('\n').map((line) => line.split('\t').toReversed() as [string, string]))
  return Object.fromEntries(Object.entries(parts).map(([name, path]) => [name, Number(sizes.get(path) ?? 0) / 1024]))
}

export interface ServerMetrics {
  /** Answers of 500 and above so far, by route and status. */
  failures: Record<string, number>
  lagMs: number
  connections: number
  databaseConnections: number
}

export async function readMetrics(server: TortureServer): Promise<ServerMetrics> {
  const text = await (await server.api('/metrics', { token: null, signal: AbortSignal.timeout(10_000) })).text()
  const failures: Record<string, number> = {}
  for (const [, labels = '', count] of text.matchAll(/^svc_http_request_duration_seconds_count\{(.*)\} (\d+)$/gm)) {
    const of = (label: string) => new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1] ?? ''
    if (Number(of('status')) >= 500) failures[`${of('method')} ${of('route')} ${of('status')}`] = Number(count)
  }
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].reduce((all, [, n]) => all + Number(n), 0)
  return {
    failures,
    lagMs: sum('nodejs_eventloop_lag_p99_seconds') * 1_000,
    connections: sum('svc_http_connections'),
    databaseConnections: sum('svc_database_connections'),
  }
}

/** Older than the shortest time for which these rows are kept. */
const agedDays = 8
const agedSeconds = 240

/**
 * The server keeps rows that only look back for at least a week. Rows of four minutes become eight days older, so that retention
 * has to keep up within the hour.
 */
export function ageRows(url: string): Promise<void> {
  return withClient(url, async (client) => {
    const age = (table: string, column: string, condition: string) =>
      client.query(`update ${table} set ${column} = ${column} - interval '${agedDays} days'
        where ${column} between now() - interval '7 days' and now() - interval '${agedSeconds} seconds' and ${condition}`)
    await client.query('begin')
    // The audit log is append-only by a trigger.
    await client.query('set local session_replication_role = replica')
    await age('audit_events', 'at', 'true')
    await age('project_events', 'created_at', delivered)
    await age('webhook_deliveries', 'created_at', "status <> 'waiting'")
    await age('trigger_slots', 'created_at', "status <> 'claimed'")
    await age('idempotency_keys', 'created_at', 'true')
    await age('given_secrets', 'given_at', 'true')
    await age('kept_secrets', 'kept_at', 'true')
    await client.query('commit')
  })
}

const delivered = `number < coalesce(
  (select min(cursor) from webhooks w where w.project_id = project_events.project_id), number + 1)`
