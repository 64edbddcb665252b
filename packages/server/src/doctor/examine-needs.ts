import type { Finding } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { examineDisk } from './examine-disk.ts'
import { examineGit } from './examine-git.ts'

/** A start says these at once: a server without them runs and does no work. */
export async function missingNeeds(config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>): Promise<Finding[]> {
  const findings = await Promise.all([examineDisk(config), examineGit()])
  return findings.filter(({ state }) => state === 'missing')
}
