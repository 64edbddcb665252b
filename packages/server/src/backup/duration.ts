/** The values of SVC_BACKUP_EVERY and SVC_BACKUP_KEEP. */

/** So many backups, or those so young. */
export type Keep = { count: number } | { ageMs: number }

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** `24h`, `30m`, `14d`, `4w`. Null: not a duration. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = /^([1-9]\d{0,5})([mhdw])$/.exec(text) ?? []
  return count === undefined ? null : Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** The rule of `parseKeep`, after what it is for. */
export const keepRule = 'a count of backups such as 30, or an age of at least a day such as 14d or 8w'

/** Null: neither. Minutes are refused at any length, as someone may mean months by an m. */
export function parseKeep(text: string): Keep | null {
  if (/^[1-9]\d{0,5}$/.test(text)) return { count: Number(text) }
  const ageMs = text.endsWith('m') ? null : parseDuration(text)
  return ageMs === null || ageMs < unitMs.d ? null : { ageMs }
}
