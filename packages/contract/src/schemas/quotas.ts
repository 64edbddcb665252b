/** Quotas of what the server stores for a project. Loads no zod: the client uses it too. */

/** The project setting that lowers each quota. Null in a setting means the operator's quota. */
export const quotaSettings = {
  quota_repository_bytes: 'repositoryBytes',
  quota_push_bytes: 'pushBytes',
  quota_unfinished_work_bytes: 'unfinishedWorkBytes',
  quota_transcript_bytes: 'transcriptBytes',
  quota_check_log_bytes: 'checkLogBytes',
  quota_app_archive_bytes: 'appArchiveBytes',
  quota_sessions_bytes: 'sessionsBytes',
} as const
export type QuotaSetting = keyof typeof quotaSettings

/** In bytes. */
export type Quotas = Record<(typeof quotaSettings)[QuotaSetting], number>

const units: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** Parses "4GiB", "512M" or "2g" as powers of 1024. Null for any other text. */
export function bytesOf(text: string): number | null {
  const [, number, unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([kmgt]?)(?:i?b)?$/i.exec(text.trim()) ?? []
  return number === undefined ? null : Math.round(Number(number) * units[unit.toLowerCase()]!)
}

const unitNames = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** "1.5 GiB": at most three digits. */
export function sizeText(bytes: number): string {
  let value = Math.max(0, bytes)
  let unit = 0
  while (value >= 1024 && unit < unitNames.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1
  const text = value.toFixed(digits)
  return `${text} ${unit === 0 && text === '1' ? 'byte' : unitNames[unit]}`
}
