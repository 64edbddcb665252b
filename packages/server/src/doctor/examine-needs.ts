import type { Finding } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { backupWarnings } from './examine-backup-place.ts'
import { examineDisk } from './examine-disk.ts'
import { examineGit } from './examine-git.ts'

type NeedsConfig = Pick<Config, 'dataDir' | 'diskFreeBytesMin' | 'backups' | 'objectStore'>

/** A start says these at once: a server without them runs and does no work, or its backups help less than they seem to. */
export async function missingNeeds(config: NeedsConfig): Promise<Finding[]> {
  const [warnings, ...findings] = await Promise.all([backupWarnings(config), examineDisk(config), examineGit()])
  return [...findings.filter(({ state }) => state === 'missing'), ...warnings]
}
