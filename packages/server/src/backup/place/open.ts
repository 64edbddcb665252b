/** The place that an address names. */
import { lstat, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import type { ObjectStoreSettings } from '../../config/backups.ts'
import { FolderPlace } from './folder.ts'
import { type Place, PlaceError } from './place.ts'
import { S3Place } from './s3/bucket.ts'
import { openBucket } from './s3/open-bucket.ts'
import { Requests } from './s3/requests.ts'
import { asTarName, isArchiveName, isTarName } from './tar/tar-name.ts'
import { TarPlace } from './tar/tar-place.ts'

/** For a command, which may wait for a store that is busy. */
const patient = { tries: 6, replyMs: 60_000 }
/** For a question that someone waits for. */
const hasty = { tries: 2, replyMs: 5_000 }
const lockTimes = { renewMs: 7_000, leaseMs: 25_000, settleMs: 2_000, pollMs: 1_000 }

export async function openPlace(
  address: string,
  { objectStore }: { objectStore: ObjectStoreSettings },
  { isHasty = false, likeFolder = null }: { isHasty?: boolean; likeFolder?: string | null } = {},
): Promise<Place> {
  if (!isS3Address(address)) return openLocal(resolve(address), likeFolder)
  const bucket = await openBucket(address, objectStore)
  const requests = new Requests(bucket, { now: () => Date.now(), ...(isHasty ? hasty : patient) })
  return new S3Place(requests, lockTimes)
}

async function openLocal(path: string, likeFolder: string | null): Promise<Place> {
  const none = (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new PlaceError(`${path} cannot be read: ${error.message}.`, error)
  }
  const found = await stat(path).catch(none)
  // A backup would take the place of the link, on another disk than the one that it leads to.
  if (found === null && (await lstat(path).catch(none)) !== null)
    throw new PlaceError(
      `${path} is a symbolic link to a place that does not exist. Mount its disk, or correct the link. Nothing was changed.`,
    )
  if (found?.isDirectory() === true) return new FolderPlace(path)
  if (isTarName(path) && (found === null || found.isFile())) return new TarPlace(path)
  if (found === null && isArchiveName(path))
    throw new PlaceError(
      `${path} does not exist, and its ending names a file that svc does not write. A backup in one file has a name that ends in .tar, such as ${asTarName(path)}; what it contains is compressed. For a folder of that name, make the folder first. Nothing was changed.`,
    )
  if (found === null) return new FolderPlace(path, likeFolder)
  throw new PlaceError(
    `${path} is not a folder. Backups are in a folder, in s3://bucket/prefix, or in a file whose name ends in .tar. Nothing was changed.`,
  )
}
