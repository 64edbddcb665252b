import { measureFileSystem } from '../../storage/disk-watch.ts'

/** PostgreSQL writes a file of this size before its next change, also when it starts after a crash. */
export const logFileBytes = 16 * 1024 ** 2

/** Whether the embedded PostgreSQL cannot run because its disk is full. It reports that in its log alone. */
export async function lacksSpace(dataDir: string): Promise<boolean> {
  return (await measureFileSystem(dataDir)).freeBytes < logFileBytes
}
