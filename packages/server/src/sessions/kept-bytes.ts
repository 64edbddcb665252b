/** What the sessions of a project make the server keep together. Past its quota no new session starts, and nothing that is kept goes. */
import { ServiceError, sizeText } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import { sql } from 'kysely'
import type { Deps } from '../deps.ts'
import { quotasOf } from '../projects/quotas.ts'
import type { ProjectRow } from '../projects/store.ts'
import { readTogether } from '../db/read-together.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { unfinishedBytesOf } from './snapshot-store.ts'
import { transcriptBytesOf } from './transcript-quota.ts'

/** The sum reads a row for each message, so starts in a row share one. What they can add meanwhile has quotas of its own. */
const sumMs = 10_000
const sums = new LRUCache<string, number>({ max: 1_000, ttl: sumMs })

export async function requireRoomForSessions(deps: Pick<Deps, 'db' | 'config'>, project: ProjectRow): Promise<void> {
  const { project_id } = project
  const { sessionsBytes: limit } = quotasOf(deps.config, project)
  const key = `${project_id} ${limit}`
  let used = sums.get(key)
  if (used === undefined || used >= limit)
    used = await readTogether(deps.db, `kept bytes ${project_id}`, () => keptBytesOf(deps.db, project_id))
  sums.set(key, used)
  if (used < limit) return
  throw new ServiceError(
    'quota_exceeded',
    `The sessions of this project use ${sizeText(used)} of their ${sizeText(limit)}, so no new one starts.`,
    {
      hint: 'Nothing was deleted. Delete sessions that are done: `svc sessions rm <id>`. Their transcripts go at once, their unfinished work after thirty days. An owner or admin raises quota_sessions_bytes, up to the quota of the server.',
      detail: { used_bytes: used, limit_bytes: limit },
    },
  )
}

/** Transcripts, unfinished work and logs of checks. */
async function keptBytesOf(db: DbOrTransaction, projectId: string): Promise<number> {
  const parts = await Promise.all([
    transcriptBytesOf(db, projectId),
    unfinishedBytesOf(db, projectId),
    checkLogBytesOf(db, projectId),
  ])
  return parts.reduce((sum, bytes) => sum + bytes, 0)
}

export async function checkLogBytesOf(db: DbOrTransaction, projectId: string): Promise<number> {
  const row = await db
    .selectFrom('check_log_chunks')
    .innerJoin('check_runs', 'check_runs.run_id', 'check_log_chunks.run_id')
    .select(sql<string>`coalesce(sum(check_log_chunks.bytes), 0)::bigint`.as('bytes'))
    .where('check_runs.project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(row.bytes)
}
