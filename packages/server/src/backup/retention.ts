/** Which backups of a place are kept. */
import type { Keep } from './duration.ts'
import { listBackups, removeManifests } from './catalog.ts'
import { newestAmong } from './complete.ts'
import type { Place } from './place/place.ts'

export function timeOf(backupId: string): number {
  const [, date, time] = /^(\d{8})T(\d{6})Z/.exec(backupId) ?? []
  const parts = [date?.slice(0, 4), date?.slice(4, 6), date?.slice(6)].join('-')
  return Date.parse(`${parts}T${time?.slice(0, 2)}:${time?.slice(2, 4)}:${time?.slice(4)}Z`)
}

/** By so much the clock of another machine may be ahead. */
const aheadMsMax = 60_000

/** Whether a clock that was ahead dated the backup. Such a one is not the newest, however late its date is. */
export function isDatedAhead(backupId: string, now: number): boolean {
  return timeOf(backupId) > now + aheadMsMax
}

/** The newest backup always stays, and so do `kept` and those that are dated ahead, which do not count. */
export function backupsToRemove(
  all: readonly string[],
  keep: Keep,
  { kept, now }: { kept: (string | null)[]; now: Date },
): string[] {
  const ids = all.filter((id) => !isDatedAhead(id, now.getTime()))
  const older = ids.slice(0, -1).filter((id) => !kept.includes(id))
  if ('count' in keep) return older.slice(0, Math.max(0, ids.length - keep.count))
  return older.filter((id) => timeOf(id) < now.getTime() - keep.ageMs)
}

/**
 * Removes their manifests; the files go with what no backup uses. Keeps `made`, which is not the newest if a clock was
 * ahead when that was made, and the newest complete one, as those after it may all lack the same repository. None goes for
 * its age while `whyUnsure` has a reason: a clock that jumped ahead would make all of them old.
 */
export async function removeOldBackups(
  place: Place,
  keep: Keep,
  { made, now, whyUnsure }: { made: string; now: Date; whyUnsure: () => Promise<string | null> },
): Promise<{ removed: string[]; problem: string | null }> {
  const ids = await listBackups(place)
  const newest = await newestAmong(
    place,
    ids.filter((id) => !isDatedAhead(id, now.getTime())),
  )
  const removed = backupsToRemove(ids, keep, { kept: [made, newest?.complete ?? null], now })
  const problem = removed.length > 0 && 'ageMs' in keep ? await whyUnsure() : null
  if (problem !== null) return { removed: [], problem }
  await removeManifests(place, removed)
  return { removed, problem: null }
}
