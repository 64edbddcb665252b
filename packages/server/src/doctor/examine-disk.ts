import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { deletedDaysKept, sizeText } from '@svc/contract'
import { scarceFactor } from '@svc/contract/schemas/disk-space'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { logFileBytes } from '../db/embedded/why-down.ts'
import { measureFileSystem, minFreeBytesOf } from '../storage/disk-watch.ts'

/** Without room for the log of PostgreSQL, each write can be refused, also that of a deletion. */
const byHand =
  'Deletions can fail on a disk this full. First free some space by hand, such as that of logs and backups. The page "Incidents" of the docs lists what may go: /docs/operate/incidents on your server.'

export async function examineDisk(config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>): Promise<Finding> {
  const { freeBytes: free, totalBytes: total } = await measureFileSystem(existing(config.dataDir))
  const least = minFreeBytesOf(config, total)
  const says = `${sizeText(free)} of ${sizeText(total)} free at ${config.dataDir}; below ${sizeText(least)} no new work starts`
  const usual = `\`svc self-host storage\` shows what uses it. Delete sessions that have stopped (\`svc sessions rm\`) or projects (\`svc projects rm --purge\`; without --purge they use the space for ${deletedDaysKept} more days), or give the disk more space.`
  const mend = free < logFileBytes ? `${byHand} ${usual}` : usual
  if (free < least) return missing('disk', says, mend)
  return free < least * scarceFactor ? weak('disk', says, mend) : good('disk', says)
}

/** Before the first start the folder is not there, and the doctor makes none. */
const existing = (dir: string): string => (existsSync(dir) ? dir : existing(dirname(dir)))
