/** Which backups of a folder are kept. */
import { rm } from 'node:fs/promises'
import { listBackups, manifestPath } from './folder.ts'

/** So many backups, or those so young. */
export type Keep = { count: number } | { ageMs: number }

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** `24h`, `30m`, `14d`, `4w`. Null: not a duration. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = /^([1-9]\d{0,5})([mhdw])$/.exec(text) ?? []
  return count === undefined ? null : Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** `30` backups, or an age such as `14d`. Null: neither. */
export function parseKeep(text: string): Keep | null {
  if (/^[1-9]\d{0,5}$/.test(text)) return { count: Number(text) }
  const ageMs = parseDuration(text)
  return ageMs === null ? null : { ageMs }
}

export function timeOf(backupId: string): number {
  const [, date, time] = /^(\d{8})T(\d{6})Z/.exec(backupId) ?? []
  const parts = [date?.slice(0, 4), date?.slice(4, 6), date?.slice(6)].join('-')
  return Date.parse(`${parts}T${time?.slice(0, 2)}:${time?.slice(2, 4)}:${time?.slice(4)}Z`)
}

/** The newest backup always stays. */
export function backupsToRemove(ids: readonly string[], keep: Keep, now: Date): string[] {
  const older = ids.slice(0, -1)
  if ('count' in keep) return older.slice(0, Math.max(0, ids.length - keep.count))
  return older.filter((id) => timeOf(id) < now.getTime() - keep.ageMs)
}

/** Removes their manifests; the files go with what no backup uses. */
export async function removeOldBackups(root: string, keep: Keep, now: Date): Promise<string[]> {
  const removed = backupsToRemove(await listBackups(root), keep, now)
  for (const id of removed) await rm(manifestPath(root, id), { force: true })
  return removed
}
