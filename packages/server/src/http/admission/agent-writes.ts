/** Limits what agents write into the database through the API. Quotas cover repositories and transcripts; nothing else limits rows. */
import { type Route, ServiceError } from '@svc/contract'
import { LRUCache } from 'lru-cache'
import { type Actor, boundSession } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { requireDiskRoom } from '../../storage/disk-watch.ts'

const hourMs = 3_600_000
const bytesPerHourMax = 16 * 1024 * 1024
/** Each request writes at least an audit row, however small its body is. */
const bytesPerRequest = 2048

const written = new LRUCache<string, { began: number; bytes: number }>({ max: 10_000 })

/** Throws `unavailable` while the disk is almost full, and `limit_reached` past a session's bytes per hour. */
export function takeAgentWrite(
  deps: Pick<Deps, 'disk' | 'now'>,
  actor: Actor | null,
  { route, bytes }: { route: Pick<Route, 'effect'>; bytes: number },
): void {
  const session = actor === null ? null : boundSession(actor)
  if (session === null || route.effect !== 'adds') return
  requireDiskRoom(deps)
  const now = deps.now().getTime()
  const known = written.get(session)
  const hour = known === undefined || now - known.began >= hourMs ? { began: now, bytes: 0 } : known
  if (hour.bytes + bytes > bytesPerHourMax)
    throw new ServiceError('limit_reached', 'This session has written 16 MiB through the API within an hour.', {
      hint: 'Keep large content in the repository.',
      detail: { retry_after_seconds: Math.max(1, Math.ceil((hour.began + hourMs - now) / 1000)) },
    })
  hour.bytes += bytes + bytesPerRequest
  written.set(session, hour)
}
