/** Data folders whose servers are known to have used a master key in the folder of this one. */
import { isThere, readRecords, type RecordedFolder } from '../startup/folder-records.ts'

/** As of the original of a restored copy. One that was moved away or removed does not count, nor one of another user, whose server cannot read the key. */
export function otherFolders(config: RecordedFolder): string[] {
  return readRecords(config)
    .filter((record) => record.data_dir !== config.dataDir && isThere(record))
    .map(({ data_dir }) => data_dir)
    .toSorted()
}
