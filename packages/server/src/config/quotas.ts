/** Storage quotas for what agents make, and the free space below which the server takes no new work. */
import { bytesOf } from '@svc/contract/schemas/quotas'
import type { Settings } from './settings.ts'

export function readQuotas(settings: Settings) {
  const quota = (of: string, fallback: string): number => {
    const name = `SVC_QUOTA_${of}`
    const bytes = bytesOf(settings.text(name) ?? fallback)
    if (bytes !== null && bytes >= 1) return bytes
    settings.refuse(name, 'must be a size, like "5GiB" or "512MiB"')
    return bytesOf(fallback)!
  }
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
    diskFreeBytesMin: readDiskFree(settings),
  }
}

/** A number without its unit would be bytes, and turn the protection off unnoticed. Only 0 says that it is meant. */
function readDiskFree(settings: Settings): number | null {
  const text = settings.text('SVC_DISK_FREE_MIN')
  if (text === null) return null
  const bytes = bytesOf(text)
  if (bytes === 0 || (bytes !== null && bytes >= 1024 ** 2)) return bytes
  settings.refuse('SVC_DISK_FREE_MIN', 'must be a size of at least 1MiB, like "5GB", or 0 for no minimum')
  return null
}
