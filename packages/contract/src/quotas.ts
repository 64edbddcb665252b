/** How much a project and its sessions may make the server keep. No schema: the client loads it too. */

/** The quotas by the setting of a project that lowers each; null there: the operator's applies. */
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

/** Bytes, each. */
export type Quotas = Record<(typeof quotaSettings)[QuotaSetting], number>

const units: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** Bytes of "4GiB", "512M" or "2g"; all of them in powers of 1024. Null when it is no size. */
export function bytesOf(text: string): number | null {
  const [, number, unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([kmgt]?)(?:i?b)?$/i.exec(text.trim()) ?? []
  return number === undefined ? null : Math.round(Number(number) * units[unit.toLowerCase()]!)
}

const unitNames = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** "1.5 GiB": three digits at most after rounding, as people compare sizes. */
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
