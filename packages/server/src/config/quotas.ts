/** Storage quotas for what agents make, and the free space below which the server takes no new work. */
import { bytesOf } from '@svc/contract/schemas/quotas'
import type { Settings } from './settings.ts'

export function readQuotas(settings: Settings) {
  const size = <T>(name: string, fallback: T, min: number): number | T => {
    const text = settings.text(name)
    if (text === null) return fallback
    const bytes = bytesOf(text)
    if (bytes !== null && bytes >= min) return bytes
    settings.refuse(name, 'must be a size, like "5GiB" or "512MiB"')
    return fallback
  }
  const quota = (name: string, fallback: string) => size(`SVC_QUOTA_${name}`, bytesOf(fallback)!, 1)
  return {
    quotas: {
      repositoryBytes: quota('REPOSITORY', '5GiB'),
      pushBytes: quota('PUSH', '1GiB'),
      unfinishedWorkBytes: quota('UNFINISHED_WORK', '1GiB'),
      transcriptBytes: quota('TRANSCRIPT', '256MiB'),
      checkLogBytes: quota('CHECK_LOG', '32MiB'),
      appArchiveBytes: quota('APP_ARCHIVE', '512MiB'),
      sessionsBytes: quota('SESSIONS', '20GiB'),
    },
    /** Null: the greater of 1 GiB and 2% of the file system. */
    diskFreeBytesMin: size('SVC_DISK_FREE_MIN', null, 0),
  }
}
