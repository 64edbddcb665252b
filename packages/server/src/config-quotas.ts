/** How much the server keeps of what agents make, and the free space below which it takes no new work. */
import type { Quotas } from '@svc/contract'
import { bytesOf } from '@svc/contract/quotas'

export interface StorageConfig {
  quotas: Quotas
  /** Null: the greater of 1 GiB and 2% of the file system. */
  diskFreeBytesMin: number | null
}

export function readQuotas(env: Record<string, string | undefined>, problems: string[]): StorageConfig {
  const size = <T>(name: string, fallback: T, min: number): number | T => {
    const text = env[name]
    if (!text) return fallback
    const bytes = bytesOf(text)
    if (bytes !== null && bytes >= min) return bytes
    problems.push(`${name} has to be a size, like "5GiB" or "512MiB", but is ${JSON.stringify(text)}.`)
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
    diskFreeBytesMin: size('SVC_DISK_FREE_MIN', null, 0),
  }
}
