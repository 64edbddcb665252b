/** Which backups of a place are kept. */
import type { Keep } from './duration.ts'
import { listBackups, removeManifests } from './catalog.ts'
import type { Place } from './place/place.ts'

export function timeOf(backupId: string): number {
  const [, date, time] = /^(\d{8})T(\d{6})Z/.exec(backupId) ?? []
  const parts = [date?.slice(0, 4), date?.slice(4, 6), date?.slice(6)].join('-')
  return Date.parse(`${parts}T${time?.slice(0, 2)}:${time?.slice(2, 4)}:${time?.slice(4)}Z`)
}

/** The newest backup always stays, and `made`, which is not the newest if a clock was ahead when that was made. */
export function backupsToRemove(
  ids: readonly string[],
  keep: Keep,
  { made, now }: { made: string; now: Date },
): string[] {
  const older = ids.slice(0, -1).filter((id) => id !== made)
  if ('count' in keep) return older.slice(0, Math.max(0, ids.length - keep.count))
  return older.filter((id) => timeOf(id) < now.getTime() - keep.ageMs)
}

/** Removes their manifests; the files go with what no backup uses. */
export async function removeOldBackups(place: Place, keep: Keep, at: { made: string; now: Date }): Promise<string[]> {
  const removed = backupsToRemove(await listBackups(place), keep, at)
  await removeManifests(place, removed)
  return removed
}
