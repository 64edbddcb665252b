/** The place that an address names. */
import { resolve } from 'node:path'
import type { ObjectStoreSettings } from '../../config/backups.ts'
import { FolderPlace } from './folder.ts'
import type { Place } from './place.ts'
import { isS3Address } from './s3/address.ts'
import { S3Place } from './s3/bucket.ts'
import { openBucket } from './s3/open-bucket.ts'
import { Requests } from './s3/requests.ts'

/** For a command, which may wait for a store that is busy. */
const patient = { tries: 6, replyMs: 60_000 }
/** For a question that someone waits for. */
const hasty = { tries: 2, replyMs: 5_000 }
const lockTimes = { renewMs: 7_000, leaseMs: 25_000, settleMs: 2_000, pollMs: 1_000 }

export async function openPlace(
  address: string,
  { objectStore }: { objectStore: ObjectStoreSettings },
  { isHasty = false } = {},
): Promise<Place> {
  if (!isS3Address(address)) return new FolderPlace(resolve(address))
  const bucket = await openBucket(address, objectStore)
  const requests = new Requests(bucket, { now: () => Date.now(), ...(isHasty ? hasty : patient) })
  return new S3Place(requests, lockTimes)
}
