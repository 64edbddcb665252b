/** Data folders whose servers are known to have used a master key in the folder of this one. */
import type { Config } from '../config.ts'
import { readFolderId } from '../startup/folder-lock.ts'
import { readRecords } from '../startup/folder-records.ts'

/** As of the original of a restored copy. One that was moved away or removed does not count. */
export function otherFolders(config: Pick<Config, 'databaseUrl' | 'dataDir' | 'masterKeyFile'>): string[] {
  return readRecords(config)
    .filter(({ data_dir, folder_id }) => data_dir !== config.dataDir && idOf(data_dir) === folder_id)
    .map(({ data_dir }) => data_dir)
    .toSorted()
}

function idOf(dataDir: string): string | null {
  try {
    return readFolderId(dataDir)
  } catch {
    return isOfOtherUser()
  }
}

/** Its server cannot read the key either. */
function isOfOtherUser(): null {
  return null
}
