/** Limits the storage of all sessions of a project. Beyond the quota no session starts, but nothing is deleted. */
import { ServiceError, sizeText } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { quotasOf } from '../projects/quotas.ts'
import type { ProjectRow } from '../projects/store.ts'
import { readTogether } from '../db/read-together.ts'
import { storedBytesOf } from './stored-bytes-store.ts'

/** The sum reads a row per message, so consecutive starts share one. Other quotas limit what they add meanwhile. */
const sumMs = 10_000
const sums = new LRUCache<string, number>({ max: 1_000, ttl: sumMs })

export async function requireSessionStorage(deps: Pick<Deps, 'db' | 'config'>, project: ProjectRow): Promise<void> {
  const { project_id } = project
  const { sessionsBytes: limit } = quotasOf(deps.config, project)
  const key = `${project_id} ${limit}`
  let used = sums.get(key)
  if (used === undefined || used >= limit)
    used = (await readTogether(deps.db, `stored bytes ${project_id}`, () => storedBytesOf(deps.db, project_id))).total
  sums.set(key, used)
  if (used < limit) return
  throw new ServiceError(
    'quota_exceeded',
    `The sessions of this project use ${sizeText(used)} of their ${sizeText(limit)}, so no new one starts.`,
    {
      hint: 'Delete finished sessions: `svc sessions rm <id>`. Transcripts are deleted at once, unfinished work after thirty days. An owner or admin can raise quota_sessions_bytes, up to the quota of the server.',
      detail: { used_bytes: used, limit_bytes: limit },
    },
  )
}
