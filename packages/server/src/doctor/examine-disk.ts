import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { sizeText } from '@svc/contract'
import { scarceFactor } from '@svc/contract/schemas/disk-space'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import type { Config } from '../config.ts'
import { measureFileSystem, minFreeBytesOf } from '../storage/disk-watch.ts'

export async function examineDisk(config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>): Promise<Finding> {
  const { freeBytes: free, totalBytes: total } = await measureFileSystem(existing(config.dataDir))
  const least = minFreeBytesOf(config, total)
  const says = `${sizeText(free)} of ${sizeText(total)} free at ${config.dataDir}; below ${sizeText(least)} no new work starts`
  const mend = '`svc self-host storage` shows what uses it. Delete projects or sessions, or give the disk more space.'
  if (free < least) return missing('disk', says, mend)
  return free < least * scarceFactor ? weak('disk', says, mend) : good('disk', says)
}

/** Before the first start the folder is not there, and the doctor makes none. */
const existing = (dir: string): string => (existsSync(dir) ? dir : existing(dirname(dir)))
