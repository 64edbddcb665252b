/** A backup on the disk of the data leaves it the space below which the server takes no new work. */
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import { sizeText } from '@svc/contract/schemas/quotas'
import { quote } from '@svc/contract/shell-words'
import type { Config } from '../../config.ts'
import { measureFileSystem, minFreeBytesOf } from '../../storage/disk-watch.ts'
import { directBytes } from './new-file.ts'
import { type Chunks, NoRoomError, type Place } from './place.ts'

type DataDisk = Pick<Config, 'dataDir' | 'diskFreeBytesMin'>

/** The disk is measured again after so much. */
const stepBytes = 1024 ** 2
/** As much of a file may be in memory when the disk is measured. */
const unwrittenBytesMax = 2 * directBytes

/** Makes the writes of a place on that disk fail in time. Returns what fails if there is no room to begin with. */
export async function leaveDataRoom(place: Place, config: DataDisk): Promise<() => Promise<void>> {
  if (!(await sharesDisk(config.dataDir, place.address))) return async () => {}
  const requireRoom = async (bytes: number) => {
    const { freeBytes, totalBytes } = await measureFileSystem(config.dataDir)
    const least = minFreeBytesOf(config, totalBytes)
    if (least > 0 && freeBytes - bytes < least) throw new NoRoomError(noRoomText(place, least))
  }
  async function* watched(chunks: Chunks): Chunks {
    let given = 0
    let measuredTo = 0
    for await (const chunk of chunks) {
      given += chunk.length
      if (given > measuredTo) {
        await requireRoom(Math.min(given, unwrittenBytesMax) + stepBytes)
        measuredTo = given + stepBytes
      }
      yield chunk
    }
  }
  const write = place.write.bind(place)
  place.write = (name, chunks) => write(name, watched(chunks))
  return () => requireRoom(stepBytes)
}

/** Also before the folder of the backups is made. */
export async function sharesDisk(dataDir: string, address: string): Promise<boolean> {
  if (isS3Address(address)) return false
  const [data, place] = await Promise.all([deviceOf(dataDir), deviceOf(resolve(address))])
  return data === place
}

/** That of the nearest folder above which can be reached. */
async function deviceOf(path: string): Promise<number> {
  try {
    return (await stat(path)).dev
  } catch (error) {
    if (dirname(path) === path) throw error
    return deviceOf(dirname(path))
  }
}

function noRoomText({ address, isOneFile }: Place, least: number): string {
  const removal = isOneFile ? '' : `, or remove backups (svc self-host backups ${quote(address)} --remove <id>)`
  return `${address} is on the disk of the data, where a backup would leave less than ${sizeText(least)} free (SVC_DISK_FREE_MIN). Below that, the server takes no new work, so the backup stopped. Earlier backups are whole. Back up to another disk or to a bucket, free some space${removal}, and run the command again.`
}
